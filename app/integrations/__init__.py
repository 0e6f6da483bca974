"""Integrations with code hosts: deliveries become links of tickets, and move tickets."""
