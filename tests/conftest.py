"""What holds for all tests."""

from hypothesis import settings

# Seconds are for benchmarks: a busy machine must not fail a test.
settings.register_profile("sfumato", deadline=None)
settings.load_profile("sfumato")
