"""The other yardstick: a no-op tool in a server made with the official Python SDK.

Stateless, with JSON responses, one process, as in its documentation.

python -m tests.bench.echo PORT
"""

import sys

import uvicorn
from mcp.server.mcpserver import MCPServer


def main() -> None:
    """Serve until stopped."""
    server = MCPServer("echo", log_level="ERROR")

    @server.tool()
    def echo() -> str:
        return "ok"

    app = server.streamable_http_app(stateless_http=True, json_response=True)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)


if __name__ == "__main__":
    main()
