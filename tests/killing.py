"""Runs that publish into a database and are killed between two steps."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from sfumato import disk
from sfumato.data.files.databases.publishing import Publication
from sfumato.pipeline import case

STEPS = {
    "write": (Publication, "write"),
    "judge": (case, "judge"),
    "put in place": (Publication, "put_in_place"),
    "commit": (Publication, "commit"),
    "name the folder": (disk, "_put_in_place"),
    "drop the old table": (Publication, "finish"),
}


def killed(run: Callable[[], object], when: str, step: str) -> None:
    """Run in a child that ends itself as kill -9 would, before or after a step."""
    child = os.fork()
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        return
    try:
        place, name = STEPS[step]
        original = getattr(place, name)

        def last(*arguments, **options):
            if when == "after":
                original(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(place, name, last)
        run()
    finally:
        os._exit(1)
