"""The shared kernel: values, errors, text rules. It imports no other package of the app."""
