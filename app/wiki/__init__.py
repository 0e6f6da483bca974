"""Wiki pages with their revisions and the graph of links between them."""
