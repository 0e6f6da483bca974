"""Finding things: the search page, and the palette that every page has."""
