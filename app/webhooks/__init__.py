"""Webhooks: signed requests that notify subscribers of events, after the commit.

``outbox.listen`` writes an outbox row for each event and webhook in the transaction of the change.
``worker`` claims rows from the outbox, ``sending`` sends one, and ``outbox`` records the result.
"""
