"""Integrations with code hosts."""
