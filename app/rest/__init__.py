"""JSON over HTTP: routes, strict requests, errors, the OpenAPI document. Independent of domains."""
