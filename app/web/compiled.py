"""Compiled templates, kept beside their sources as Python keeps its own compiled files.

Compiling all of them takes longer than the rest of a server's start. Who may write there may change
the templates themselves, so what is read is trusted as much as they are.
"""

import sys
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError

from jinja2 import Environment, FileSystemBytecodeCache
from jinja2.bccache import Bucket


class CompiledTemplates(FileSystemBytecodeCache):
    """A directory of compiled templates; where it cannot be written, each process compiles.

    Jinja checks what it reads against the source and the version of Python. The names say its
    release, and what else goes into compiling: how it is set up, and filters, which are worked out
    there and then where they are given constants.
    """

    def __init__(self, directory: Path, assets: str) -> None:
        """Keep them in this directory, made when there is something to keep; the version of the
        assets is in the addresses of icons.
        """
        here = Path(__file__).parent
        sources = ("assets.py", "filters.py", "jinja.py", "render.py")
        used = b"".join((here / name).read_bytes() for name in sources)
        made_by = f"jinja-{version('jinja2')}.{sha256(used + assets.encode()).hexdigest()[:12]}"
        super().__init__(str(directory), f"%s.{made_by}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill in what is kept of one template, if it can be read."""
        with suppress(OSError, EOFError, UnpicklingError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write one down, unless Python is told to write none or the directory is not ours."""
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            Path(self.directory).mkdir(exist_ok=True)
            super().dump_bytecode(bucket)


def keep_compiled(env: Environment, templates: Path, assets: str) -> None:
    """Have this environment keep what it compiles in ``__pycache__`` beside the templates."""
    env.bytecode_cache = CompiledTemplates(templates / "__pycache__", assets)
