"""What holds for all tests."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Commands that tests start, in whatever folder, run the tree that these tests stand in, as the tests themselves do.
ROOT = Path(__file__).parents[1]
GIVEN = [str(Path(path).resolve()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(ROOT / "src"), *GIVEN]))

# Seconds are for benchmarks: a busy machine must not fail a test.
settings.register_profile("sfumato", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)  # a fourth of the usual tables
settings.load_profile("sfumato")

# A shell starts work in the background deaf to Ctrl-C, and children inherit that; tests of stops send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

POSIX = os.name == "posix"
UNDER = {  # mark -> where such a test says something, and why not elsewhere
    "posix": (POSIX, "signals, limits, links and shells as POSIX has them"),
    "more": (
        "SFUMATO_TEST_MORE" in os.environ,
        "needs a browser, Java, PostgreSQL or R, and minutes: `make more` runs it where these are installed",
    ),
    "no_root": (POSIX and os.geteuid() != 0, "permissions do not bind root, and Windows has others"),
}


def pytest_collection_modifyitems(items):
    for item in items:
        for mark, (can_run, reason) in UNDER.items():
            if not can_run and item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))
