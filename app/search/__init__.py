"""Full-text search over what the domains above put into its index."""
