"""Each task can be done, and costs what the guide says."""

import re
from pathlib import Path

import anyio
import pytest

from tests.agents.desk import Cost, opened
from tests.agents.tasks import TASKS
from tests.support.forking import FORKED
from tests.support.serving import serving

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "bot-guide.md"
ROW = re.compile(r"^\| (?P<words>[^|]+) \| (?P<calls>\d+) \| (?P<tokens>[\d,]+) \|", re.MULTILINE)
# The tokens in the guide are rounded up to tens.
CLOSE = 0.9


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    """Every task, done one after the other on one server; the cost of each, in order."""
    instance = tmp_path_factory.mktemp("agents") / "instance"
    with serving(instance, command=FORKED) as served:
        desk = opened(served, instance)
        for task in TASKS:
            cost = desk.costs[task.words] = Cost()
            anyio.run(_do, desk, task, cost)
        return desk.costs


async def _do(desk, task, cost):
    async with desk.hand("smith", cost) as hand:
        await task.act(desk, hand)


def test_all_together_fit_the_budget(costs):
    for words, cost in costs.items():
        print(f"| {words} | {cost.calls} | {cost.tokens} |")
    calls, tokens = (
        sum(getattr(cost, name) for cost in costs.values()) for name in ("calls", "tokens")
    )
    print(calls, tokens)
    assert calls <= 60
    assert tokens <= 20_000


def test_the_guide_says_what_each_costs(costs):
    text = GUIDE.read_text().partition("## What tasks cost")[2].partition("\n## ")[0]
    said = {row["words"]: row for row in ROW.finditer(text)}
    assert list(said) == [*costs, "Together"]
    total = Cost(
        sum(cost.calls for cost in costs.values()), sum(cost.bytes for cost in costs.values())
    )
    for words, cost in {**costs, "Together": total}.items():
        assert int(said[words]["calls"]) == cost.calls, words
        tokens = int(said[words]["tokens"].replace(",", ""))
        assert CLOSE * tokens <= cost.tokens <= tokens, (words, cost.tokens)
