import pytest

from tests.support.agent import Agent


@pytest.fixture
def smith(cast):
    """A write bot for all projects."""
    return Agent(cast.smith)


@pytest.fixture
def scout(cast):
    """A read bot."""
    return Agent(cast.scout)


@pytest.fixture
def fenced(cast):
    """A write bot for the project FENCED alone."""
    return Agent(cast.fenced)


@pytest.fixture
def ada(cast):
    """A person, over REST."""
    return cast.ada
