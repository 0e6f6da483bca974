"""What happens after the commit: signed requests to those who asked to be told of events.

``listening`` writes an outbox row for each event and webhook in the transaction of the change;
``outbox`` hands rows out and takes results back; ``worker`` sends them, ``sending`` one at a time.
"""
