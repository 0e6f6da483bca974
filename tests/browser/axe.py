"""Findings of axe on a page: WCAG 2.2 A and AA, in both themes.

Contrast and target size take most of its time, and pages share their components. Texts of the same
style on the same backgrounds have the same contrast, and targets with the same neighbors have the
same room. A text or target that passed once is not judged on other pages.
"""

from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

AXE = Axe().axe_script
# Rules that judge only new looks, and the selectors of what they judge.
OF_TEXTS = {"color-contrast": "*", "link-in-text-block": "a[href]"}
OF_TARGETS = {"target-size": "*"}
RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    },
    "rules": {
        name: {"enabled": True} for name in ("landmark-unique", "scrollable-region-focusable")
    },
}
# Only colors differ in the dark theme; everything else is judged in the light one.
RULES_IN_THE_DARK = {"runOnly": {"type": "rule", "values": list(OF_TEXTS)}}
JUDGE = Path(__file__).with_name("judge.js").read_text()
DARK = "matchMedia('(prefers-color-scheme: dark)').matches"

# The looks that passed in this process; they are independent of theme and page.
_judged: set[str] = set()


def load_axe(page: Page) -> None:
    """Load axe into the page, unless it is there."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)


def findings(page: Page, *, below_popups: bool = True) -> list[str]:
    """Return the violations that axe finds, one line each.

    Without ``below_popups``, targets that something else covers partly count as large enough.
    """
    # Colors are judged without transitions.
    page.emulate_media(reduced_motion="reduce")
    load_axe(page)
    is_dark = page.evaluate(DARK)
    rules = RULES_IN_THE_DARK if is_dark else RULES
    asked = [" ".join(_judged), is_dark, rules, OF_TEXTS, OF_TARGETS]
    found, judged = page.evaluate(JUDGE, asked)
    _judged.update(judged.split())
    return [
        f"{page.url}: {one['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
        if below_popups or not _is_half_covered(node)
    ]


def _is_half_covered(node: dict[str, Any]) -> bool:
    data = [check["data"] for check in node["any"]]
    return any(one and one.get("messageKey") == "partiallyObscured" for one in data)


def findings_in_both(page: Page, *, below_popups: bool = True) -> list[str]:
    """Return the violations in the light theme, and those of colors in the dark one."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += findings(page, below_popups=below_popups)
    return found
