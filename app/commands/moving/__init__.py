"""Commands that move all data: backup and restore, copying to PostgreSQL, export and import."""
