"""What every request shares: the Flask subclass, the current request, responses."""
