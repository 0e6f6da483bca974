"""Where people read wiki pages."""

# Slugs that are addresses of our own below /wiki: such a page is reached by its id.
TAKEN = frozenset({"new", "broken-links", "complete", "preview"})


def address_of(key: str | None, slug: str, page_id: str = "") -> str:
    """Where a page is read; ``key`` is its project's, None for a global page."""
    base = f"/projects/{key}/wiki" if key else "/wiki"
    return f"{base}/{page_id if slug in TAKEN and page_id else slug}"


def address_of_new(key: str | None, slug: str) -> str:
    """Where a page that is not there yet is written."""
    return f"{address_of(key, slug)}/edit"


def title_of(slug: str) -> str:
    """The title that a slug suggests."""
    return slug.replace("-", " ").capitalize()
