"""Each task can be done, and costs what the guide says."""

import re
from pathlib import Path

import pytest

from tests.agents.desk import Cost, opened
from tests.agents.tasks import TASKS
from tests.support.event_loop import run_async
from tests.support.forking import FORKED
from tests.support.serving import serving

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "bot-guide.md"
ROW = re.compile(r"^\| (?P<words>[^|]+) \| (?P<calls>\d+) \| (?P<tokens>[\d,]+) \|", re.MULTILINE)
# The tokens in the guide are rounded up to tens.
CLOSE = 0.9


@pytest.fixture
def costs(migrated_url, tmp_path):
    """Run every task, one after the other, on one server; return the cost of each, in order."""
    settings = {"DATABASE_URL": migrated_url, "SECRET_KEY": "a secret key, for agents of tests"}
    found = {task.words: Cost() for task in TASKS}
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        desk = opened(served, migrated_url)
        for task in TASKS:
            run_async(_do(desk, task, found[task.words]))
    return found


async def _do(desk, task, cost):
    async with desk.hand("smith", cost) as hand:
        await task.act(desk, hand)


def test_each_can_be_done_and_costs_what_the_guide_says(costs):
    text = GUIDE.read_text().partition("## What tasks cost")[2].partition("\n## ")[0]
    said = {row["words"]: row for row in ROW.finditer(text)}
    assert list(said) == [*costs, "Together"]
    total = Cost(
        sum(cost.calls for cost in costs.values()), sum(cost.bytes for cost in costs.values())
    )
    assert total.calls <= 60
    assert total.tokens <= 20_000
    for words, cost in {**costs, "Together": total}.items():
        print(f"| {words} | {cost.calls} | {cost.tokens} |")
        assert int(said[words]["calls"]) == cost.calls, words
        tokens = int(said[words]["tokens"].replace(",", ""))
        assert CLOSE * tokens <= cost.tokens <= tokens, (words, cost.tokens)
