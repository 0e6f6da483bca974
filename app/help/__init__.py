"""The help pages, what agents read about connecting, and the page of the design system."""
