"""What the process that forks servers and commands imports, once for all of them."""

import gc

import flask.cli

import app
import tests.support.forking

__all__ = ["app", "flask", "tests"]

# Every server collects garbage as it starts, and would walk through all of this.
gc.collect()
gc.freeze()
