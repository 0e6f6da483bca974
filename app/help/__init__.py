"""Help: what is where, every key, how agents connect; and the living page of the design system."""
