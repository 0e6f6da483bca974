"""Files on tickets, comments and wiki pages: who may add, read and delete them."""
