"""Imports of the process that forks servers and commands, made once for all of them."""

import gc

import flask.cli

import app
import tests.support.forking

__all__ = ["app", "flask", "tests"]

# Otherwise each server's garbage collection at startup would traverse all of this.
gc.collect()
gc.freeze()
