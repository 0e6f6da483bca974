"""The server: the parent process, its workers, and the ASGI application."""
