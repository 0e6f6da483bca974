"""How JSON-RPC works here: the endpoint that bots connect to. It knows no domain.

Written by hand, since one stateless POST is all there is to it: no session, no stream. What real
clients need, in both eras of the protocol, is asserted in ``tests/mcp``.
"""
