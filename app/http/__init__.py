"""Code that all requests share: the Flask subclass, the current request, responses."""
