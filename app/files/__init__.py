"""Files: storing contents by SHA-256, detecting types, and sending files."""
