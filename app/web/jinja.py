"""Jinja as pages use it, without what every value, call and included file would pay for.

None of it changes what a template may say: its compiled code asks for less.
"""

from collections.abc import Iterable, MutableMapping
from typing import Any

from flask.templating import Environment
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.runtime import Context, Macro
from markupsafe import Markup, escape

# What escape() stands on: the text, not marked as safe.
from markupsafe import _escape_inner as escaped  # type: ignore[attr-defined]


def shown(value: Any) -> str:
    """A value as it goes out: as ``escape`` has it, but not marked once more as safe.

    What goes out is only put together, so the mark, which is another string each time, says nothing
    to anyone.
    """
    kind = type(value)
    if kind is Markup:
        safe: str = value
        return safe
    if kind is str:
        text: str = escaped(value)
        return text
    return escape(value)


class Writer(CodeGenerator):
    """Compiles templates so that values go out by ``shown``, and a block or a file in one piece."""

    def blockvisit(self, nodes: Iterable[nodes.Node], frame: Frame) -> None:
        """Write the body of a block, or of a file that extends none, or what stands inside them.

        Each piece that went out alone would go through every block and file around it.
        """
        is_whole = frame.block_frame or (frame.toplevel and not frame.require_output_check)
        if not is_whole or frame.buffer is not None:
            super().blockvisit(nodes, frame)
            return
        self.buffer(frame)
        super().blockvisit(nodes, frame)
        self.writeline(f"yield concat({frame.buffer})")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if frame.eval_ctx.volatile or not frame.eval_ctx.autoescape or finalize.src is not None:
            super()._output_child_pre(node, frame, finalize)
        else:
            self.write("environment.shown(")


class PageContext(Context):
    """What a template sees while it is rendered."""

    def call(self, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls; of a macro it is known how it wants to be called."""
        if type(callee) is not Macro:
            return super().call(callee, *args, **kwargs)
        kwargs.pop("_block_vars", None)
        kwargs.pop("_loop_vars", None)
        return callee(self.eval_ctx, *args, **kwargs)


# What an attribute of a dict can be, whatever keys it has.
_OF_DICTS = frozenset(dir(dict))


class Pages(Environment):
    """The environment of all templates."""

    code_generator_class = Writer
    context_class = PageContext
    shown = staticmethod(shown)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """An attribute, or a key: of a dict, which most values are, its key without a detour."""
        if type(obj) is dict and attribute in obj and attribute not in _OF_DICTS:
            return obj[attribute]
        return super().getattr(obj, attribute)

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """The globals of a template: of all of them, as none here has some of its own.

        Every file that is included goes through them twice, which is quick for a dict alone.
        """
        return {**self.globals, **d} if d else self.globals
