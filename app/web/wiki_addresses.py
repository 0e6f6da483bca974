"""The URLs of wiki pages for people."""

# Slugs that are other URLs below /wiki; the URL of such a page contains its id instead.
TAKEN = frozenset({"new", "broken-links", "complete", "preview"})


def address_of(key: str | None, slug: str, page_id: str = "") -> str:
    """The URL of a page; ``key`` is its project's, None for a global page."""
    base = f"/projects/{key}/wiki" if key else "/wiki"
    return f"{base}/{page_id if slug in TAKEN and page_id else slug}"


def address_of_new(key: str | None, slug: str) -> str:
    """The URL at which a missing page can be created."""
    return f"{address_of(key, slug)}/edit"


def title_of(slug: str) -> str:
    return slug.replace("-", " ").capitalize()
