"""Connections to code forges: what they deliver becomes links of tickets, and moves them."""
