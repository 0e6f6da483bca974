"""Run several cases of one rule on one setup, which costs more than most cases do."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

SUBTESTS = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)


def cases(names: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test with each of the values, as ``parametrize`` does, but in one database.

    The cases must not affect each other. A failure shows the values of its case.
    """
    wanted = [name.strip() for name in names.split(",")]
    listed = list(values)

    def decorate(test: Callable[..., None]) -> Any:
        signature = inspect.signature(test)
        asked = [one for name, one in signature.parameters.items() if name not in wanted]
        # Nested inside another ``cases``, the test itself requests subtests.
        passed_on = {"subtests"} & {one.name for one in asked}

        @functools.wraps(test)
        def run(*arguments: Any, subtests: Any, **fixtures: Any) -> None:
            fixtures |= dict.fromkeys(passed_on, subtests)
            for value in listed:
                given = value if len(wanted) > 1 else (value,)
                with subtests.test(repr(value)[:80]):
                    test(*arguments, **fixtures, **dict(zip(wanted, given, strict=True)))

        if not passed_on:
            asked.append(SUBTESTS)
        run.__dict__["__signature__"] = signature.replace(parameters=asked)
        return run

    return decorate
