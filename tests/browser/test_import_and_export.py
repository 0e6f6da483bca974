"""Import from a file and export as a zip: by mouse, by keyboard, without script."""

import zipfile

import pytest
from playwright.sync_api import expect

from tests.browser.test_keyboard_only import reach

CSV = "Nr,What,Details,Who\n~1,From ~,Long ago,Jane Roe\n~2,A second one,,\n"


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


@pytest.fixture
def issues(tmp_path):
    """A file whose titles contain a unique word."""
    path = tmp_path / "issues.csv"
    path.write_text(CSV.replace("~", tmp_path.name))
    return path


def test_a_file_is_tried_mapped_and_imported(wide, issues):
    page = wide.page
    wide.go("/projects")
    page.click(".header .admin-menu summary")
    page.click(".header .admin-menu .menu-item:has-text('Import')")
    page.select_option("#project", "DEMO")
    page.set_input_files("#files", issues)
    press(page, "Preview")
    expect(page.get_by_role("alert")).to_contain_text("Which column is the title?")
    page.select_option("#column-title", "What")
    page.select_option("#column-id", "Nr")
    press(page, "Preview")
    expect(page.get_by_role("heading", name="Preview: nothing was imported")).to_be_focused()
    expect(page.locator("#answer tbody tr")).to_have_count(2)
    # The file input keeps its file, and the form its choices.
    expect(page.locator("#column-title")).to_have_value("What")
    with page.expect_download() as download:
        page.click("text=Download report")
    expect(page.locator("#answer tbody tr")).to_have_count(2)
    assert "A second one" in download.value.path().read_text(encoding="utf-8-sig")
    press(page, "Import into DEMO")
    expect(page.get_by_role("heading", name="Imported")).to_be_focused()
    page.click(".import-report a:has-text('View tickets in DEMO')")
    expect(page.locator(f".ticket-row:has-text('From {issues.parent.name}')")).to_have_count(1)


def test_a_long_import_runs_to_its_end_by_itself(wide, tmp_path):
    page, rows = wide.page, 2000
    issues = tmp_path / "many.csv"
    issues.write_text("title\n" + "".join(f"{tmp_path.name} {n}\n" for n in range(rows)))
    wide.go("/import?project=DEMO")
    page.set_input_files("#files", issues)
    press(page, "Import")
    expect(page.get_by_role("progressbar", name="1,000 of 2,000 remaining.")).to_be_visible(
        timeout=120_000
    )
    expect(page.get_by_role("heading", name="Imported", exact=True)).to_be_focused(timeout=120_000)
    expect(page.locator(".import-sums")).to_contain_text("2,000 stories")


def test_all_of_it_by_keyboard(wide, issues):
    page = wide.page
    wide.go("/import?project=DEMO")
    reach(wide, "Project", "combobox")
    # The system draws the file chooser, so the file is set directly; the page does the rest.
    page.set_input_files("#files", issues)
    reach(wide, "Preview")
    wide.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Which column is the title?")
    expect(page.get_by_role("alert")).to_be_focused()
    reach(wide, "Title", "combobox")
    wide.press("w", "h", "a", "t")
    reach(wide, "ID", "combobox")
    wide.press("n", "r")
    page.locator("#project").focus()
    reach(wide, "Preview")
    wide.press("Space")
    expect(page.get_by_role("heading", name="Preview: nothing was imported")).to_be_focused()
    reach(wide, "Import into DEMO")
    wide.press("Enter")
    expect(page.get_by_role("heading", name="Imported")).to_be_focused()
    reach(wide, "View tickets in DEMO", "link")
    wide.press("Enter")
    expect(page.locator(f".ticket-row:has-text('From {issues.parent.name}')")).to_have_count(1)


def test_without_script_the_file_is_chosen_again(plain, issues):
    page = plain.page
    plain.go("/import?project=DEMO")
    issues.write_text(issues.read_text().replace("What", "Title"))
    page.set_input_files("#files", issues)
    press(page, "Preview")
    expect(page.locator(".notice").last).to_contain_text("Select the file again")
    page.set_input_files("#files", issues)
    press(page, "Import into DEMO")
    expect(page.locator("#report-title")).to_have_text("Imported")
    page.click(".import-report a:has-text('View tickets in DEMO')")
    expect(page.locator(f".ticket-row:has-text('From {issues.parent.name}')")).to_have_count(1)


def test_everything_is_downloaded_as_a_zip(wide):
    wide.go("/projects")
    wide.page.click("text=export everything")
    wide.page.check("[name=events]")
    with wide.page.expect_download() as download:
        wide.page.click("text=Download zip")
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.testzip() is None
        assert {"tickets/DEMO/DEMO-2.md", "audit/events-1.jsonl"} <= set(archive.namelist())
