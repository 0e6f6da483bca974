"""JSON-RPC for bots: one stateless POST, without sessions or streams. Independent of domains.

``tests/mcp`` asserts what real clients need, in legacy and modern versions of the protocol.
"""
