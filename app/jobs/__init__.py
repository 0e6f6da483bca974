"""The background jobs of a server process, such as deliveries, sweeps and index flushes."""
