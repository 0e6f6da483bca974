"""How fast the real server answers, measured from outside (`make bench`)."""
