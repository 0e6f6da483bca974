"""What axe finds on a page: WCAG 2.2 A and AA, in both themes.

Contrast and the size of targets take most of its time, and pages share their components. Texts that
look alike on the same grounds have one contrast, and targets with the same targets around them
have room or not. Of either, what was judged and found good is judged on no other page.
"""

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

AXE = Axe().axe_script
# Rules that judge only what looks new, and what they judge.
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
# In the dark colors alone are others; all else is judged in the light.
RULES_IN_THE_DARK = {"runOnly": {"type": "rule", "values": list(OF_TEXTS)}}
JUDGE = Path(__file__).with_name("judge.js").read_text()
DARK = "matchMedia('(prefers-color-scheme: dark)').matches"

# The looks that this process has judged, which depend on no theme and no page.
_judged: set[str] = set()


def load_axe(page: Page) -> None:
    """Give the page what judges it, unless it has it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)


def findings(page: Page) -> list[str]:
    """What axe finds, one line each."""
    # Colors are judged at rest.
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
    ]


def findings_in_both(page: Page) -> list[str]:
    """What axe finds in the light, and in the dark what differs there."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += findings(page)
    return found
