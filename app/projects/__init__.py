"""Projects with their workflow states and labels."""
