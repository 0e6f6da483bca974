"""Full-text search over the documents that the domains above put into its index."""
