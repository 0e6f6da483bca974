"""The help pages, connection instructions for agents, and the page of the design system."""
