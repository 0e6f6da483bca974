"""Integrations with code hosts: what they deliver becomes links of tickets, and moves them."""
