"""Settings for tests."""

from pathlib import Path
from typing import Any

from app.config import Settings


def settings_for(database_url: str, directory: Path, **changes: Any) -> Settings:
    """Return settings for a test database: cheap password hashing, otherwise the defaults."""
    given: dict[str, Any] = {
        "instance_dir": directory,
        "database_url": database_url,
        "secret_key": "a secret key of the tests, long enough",
        "base_url": "http://localhost",
        "log_level": "WARNING",
        "threads": 8,
        "password_time_cost": 1,
        "password_memory_kib": 8,
        "password_parallelism": 1,
    }
    return Settings(**(given | changes))
