"""What concerns one person: the inbox, mentions, and the home page."""
