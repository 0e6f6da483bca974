"""The background jobs of a server process: deliveries, sweeps and flushing the search index."""
