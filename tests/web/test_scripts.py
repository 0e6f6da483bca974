"""Scripts joined at start: each entry has what it needs once, and conflicts are refused."""

import pytest

from app.web.scripts import ScriptWrong, join

APP = 'import { say } from "./page.js";\n\nsay("hello");\n'
PAGE = """// What every page has.

/** Say it. */
export function say(words) {
  // To everyone.
  console.log(words, "// not a comment");
}

export const never = 0;
"""


def test_an_entry_holds_what_it_imports_without_what_only_people_read():
    joined = join({"app.js": APP, "page.js": PAGE})
    assert joined == {
        "app.js": "const { say, never } = (() => {\n"
        "function say(words) {"
        'console.log(words, "// not a comment");'
        "}\n"
        "const never = 0;\n"
        "return { say, never };\n"
        "})();\n"
        "{\n"
        'say("hello");\n'
        "}\n"
    }


def test_what_is_on_every_page_is_not_sent_again():
    list_entry = (
        'import { cut } from "./text.js";\nimport { say } from "./page.js";\nsay(cut(1));\n'
    )
    joined = join(
        {
            "app.js": APP,
            "page.js": PAGE,
            "text.js": "export const cut = (one) => one;\n",
            "list.js": list_entry,
        }
    )
    assert joined["list.js"].startswith('import { say } from "./app.js";\nconst { cut } =')
    assert "console.log" not in joined["list.js"]
    assert joined["app.js"].endswith("export { say };\n")
    assert "text.js" not in joined


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({"app.js": 'import * as page from "./page.js";\n', "page.js": PAGE}, "another way"),
        ({"app.js": "export default 1;\n"}, "another way"),
        ({"app.js": "go(); // now;\nstop();\n"}, "behind code"),
        ({"app.js": "const text = `one\n// two`;\n"}, "several lines"),
    ],
)
def test_what_does_not_fit_ends_the_start(sources, said):
    with pytest.raises(ScriptWrong, match=said):
        join(sources)
