"""Reading the audit log and the tool log: feeds, reviews of bots, and the overview of a project."""
