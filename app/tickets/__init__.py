"""Tickets and what hangs on them: relations, watchers and comments.

Comments live here because a transition can carry one, and every comment is found by its ticket.
"""
