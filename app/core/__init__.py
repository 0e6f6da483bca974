"""The shared kernel: values, database, errors and text rules. It imports nothing else of the application."""
