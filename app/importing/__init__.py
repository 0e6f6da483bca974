"""Issues and wiki pages from files of other programs."""
