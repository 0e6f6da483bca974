"""Tickets with their relations, links, watchers and comments.

Comments belong here because a transition can carry one, and every comment is found by its ticket.
"""
