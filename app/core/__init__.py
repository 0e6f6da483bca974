"""The shared kernel: values, database, errors, text rules. It imports nothing else of the house."""
