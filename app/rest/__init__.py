"""JSON over HTTP: routes, strict requests, errors and the OpenAPI document. It knows no domain."""
