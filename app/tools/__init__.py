"""The 29 tools of bots. An edge like REST: it turns names into ids and calls a verb."""
