"""What a server process does beside answering: deliveries and sweeps, with APScheduler as clock."""
