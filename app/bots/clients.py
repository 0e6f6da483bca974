"""Configurations of MCP clients, for the pages and the bot guide."""

from dataclasses import dataclass

import orjson

from app.bots import messages

# Placeholders for the MCP address and for the name that a client shows.
_ADDRESS = "ADDRESS"
_NAME = "NAME"


@dataclass(frozen=True, slots=True)
class McpClient:
    """A client, the place of its configuration, and the template of the configuration."""

    key: str
    name: str
    place: str
    template: str

    @property
    def label(self) -> str:
        return f"{self.name}, {self.place}"

    def text(self, address: str, server: str) -> str:
        """The configuration of a server at this address, under this name."""
        # In TOML, an unquoted dot separates the names of nested tables.
        name = f'"{server}"' if "." in server and self.place.endswith(".toml") else server
        return self.template.replace(_NAME, name).replace(_ADDRESS, orjson.dumps(address).decode())


def _json(outer: str, *fields: str) -> str:
    inner = ",\n".join(f"  {field}" for field in fields)
    return f'{{"{outer}": {{"{_NAME}": {{\n{inner}\n}}}}}}'


CLIENTS = (
    McpClient(
        "mcp-claude",
        "Claude Code",
        messages.IN_A_SHELL,
        f"claude mcp add --transport http {_NAME} {_ADDRESS}",
    ),
    McpClient(
        "mcp-json",
        messages.CLAUDE_CODE_AND_OTHERS,
        ".mcp.json",
        _json("mcpServers", '"type": "http"', f'"url": {_ADDRESS}'),
    ),
    McpClient(
        "mcp-cursor", "Cursor", ".cursor/mcp.json", _json("mcpServers", f'"url": {_ADDRESS}')
    ),
    McpClient(
        "mcp-vscode",
        "VS Code",
        ".vscode/mcp.json",
        _json("servers", '"type": "http"', f'"url": {_ADDRESS}'),
    ),
    McpClient(
        "mcp-windsurf",
        "Windsurf",
        "~/.codeium/windsurf/mcp_config.json",
        _json("mcpServers", f'"serverUrl": {_ADDRESS}'),
    ),
    McpClient(
        "mcp-gemini",
        "Gemini CLI",
        "~/.gemini/settings.json",
        _json("mcpServers", f'"httpUrl": {_ADDRESS}'),
    ),
    McpClient(
        "mcp-codex", "Codex", "~/.codex/config.toml", f"[mcp_servers.{_NAME}]\nurl = {_ADDRESS}"
    ),
    McpClient(
        "mcp-bridge",
        messages.OTHER_CLIENTS,
        messages.WITH_NODE_AND_BRIDGE,
        _json("mcpServers", '"command": "npx"', f'"args": ["-y", "mcp-remote", {_ADDRESS}]'),
    ),
)
