"""How JSON over HTTP works here: routes, errors, the strict edge. It knows no domain."""
