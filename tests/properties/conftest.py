"""Property tests run without deadlines, which mean nothing on a busy machine."""

from hypothesis import settings

settings.register_profile("docket", deadline=None, print_blob=True)
settings.load_profile("docket")
