"""The commands that speak of several domains; each is a door like REST and calls the same verbs."""
