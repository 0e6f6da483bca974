"""How properties are explored: without a stopwatch, which a busy machine would only mislead."""

from hypothesis import settings

settings.register_profile("docket", deadline=None, print_blob=True)
settings.load_profile("docket")
