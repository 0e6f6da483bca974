"""Texts of the help pages outside of templates and documents."""

SHELL_MCP = "Shell (MCP)"
SHELL_REST = "Shell (REST)"
