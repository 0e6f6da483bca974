"""The other yardstick: a tool that does nothing, in a server made with the official Python SDK.

Stateless, answering in JSON, one process, as its documentation has it.

python -m tests.bench.echo PORT
"""

import sys

import uvicorn
from mcp.server.mcpserver import MCPServer


def main() -> None:
    """Serve until told to stop."""
    server = MCPServer("echo", log_level="ERROR")

    @server.tool()
    def echo() -> str:
        """Answer."""
        return "ok"

    app = server.streamable_http_app(stateless_http=True, json_response=True)
    uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)


if __name__ == "__main__":
    main()
