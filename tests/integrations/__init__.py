"""Connections to code forges."""
