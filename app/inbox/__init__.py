"""The inbox, mentions and the home page of one person."""
