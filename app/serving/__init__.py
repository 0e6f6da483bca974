"""The processes of a server: the parent, its workers, and the ASGI application."""
