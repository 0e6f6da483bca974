"""wrk as the client: light enough to leave the machine to the server."""

import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

# Sends the requests in rotation; reports figures missing from wrk's own summary.
SCRIPT = """
local requests, turn = {}, 0
init = function()
  for _, one in ipairs(wanted) do
    requests[#requests + 1] = wrk.format(one.method, one.path, one.headers, one.body)
  end
end
request = function()
  turn = turn % #requests + 1
  return requests[turn]
end
done = function(summary, latency)
  io.write(string.format("FIGURES %d %d %d %d %d\\n", summary.requests, summary.duration,
    summary.errors.status + summary.errors.timeout + summary.errors.read + summary.errors.connect,
    latency:percentile(50), latency:percentile(99)))
end
"""


@dataclass(frozen=True)
class Request:
    """A request to send."""

    path: str
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass(frozen=True)
class Figures:
    """Results; times in milliseconds. A status other than 2xx or 3xx is a failure."""

    per_second: float
    p50: float
    p99: float
    failures: int


def is_here() -> bool:
    """Return whether wrk is installed."""
    return shutil.which("wrk") is not None


def measure(port: int, requests: list[Request], *, connections: int, seconds: float) -> Figures:
    """Send the requests in rotation over this many connections for ``seconds``."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(f"wanted = {_lua(requests)}\n{SCRIPT}")
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s"]
        ran = subprocess.run(
            [*command, "-s", Path(script.name), f"http://127.0.0.1:{port}/"],
            capture_output=True,
            text=True,
            check=True,
        )
    found = re.search(r"FIGURES (\d+) (\d+) (\d+) (\d+) (\d+)", ran.stdout)
    assert found is not None, ran.stdout + ran.stderr
    count, micros, failures, p50, p99 = (int(group) for group in found.groups())
    return Figures(count / micros * 1_000_000, p50 / 1000, p99 / 1000, failures)


def _lua(requests: list[Request]) -> str:
    def text(value: str) -> str:
        # JSON's escapes are valid Lua, except for the slash and non-ASCII characters.
        return json.dumps(value, ensure_ascii=False)

    rows = (
        f"{{method={text(one.method)}, path={text(one.path)}, body={text(one.body)}, headers={{"
        + ", ".join(f"[{text(name)}]={text(value)}" for name, value in one.headers.items())
        + "}}"
        for one in requests
    )
    return "{" + ",\n".join(rows) + "}"
