"""Moving in and out: the Markdown of what is here, the pages of import and export."""
