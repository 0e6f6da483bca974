"""What the help pages say outside of templates and documents."""

SHELL_MCP = "Shell (MCP)"
SHELL_REST = "Shell (REST)"
