"""orjson as Flask's JSON."""

from typing import Any

import orjson
from flask.json.provider import JSONProvider


class OrjsonProvider(JSONProvider):
    """Dumps and loads with orjson; the strict reading of requests is in ``strict_json``."""

    def dumps(self, obj: Any, **_kwargs: Any) -> str:
        """JSON text of a value."""
        return orjson.dumps(obj).decode()

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        """The value of JSON text."""
        return orjson.loads(s)
