"""Texts of wiki pages and their verbs, for people and API clients."""

SEVERAL_WIKIS = "Several wikis have this slug. Specify project_id."
SLUG_INVALID = "slug must be lowercase letters, digits and single hyphens."


def slug_taken(slug: str) -> str:
    return f"The slug {slug} is already taken."


def another_has_slug(slug: str) -> str:
    return f"Another page has the slug {slug}."


def not_deleted(slug: str) -> str:
    return f"The page {slug} is not deleted."


PROJECT_NOT_FOUND = "Project not found."

# Pages
WORKSPACE = "Workspace"
WORKSPACE_WIKI = "the workspace wiki"


def restored_revision(number: int) -> str:
    return f"Restored r{number}"


TREE = "Tree"
A_TO_Z = "A to Z"
RECENT = "Recent"
NOT_LINKED = "Not linked"
