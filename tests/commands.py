"""The command line inside the process of the tests: as fast as a call, raising what `main` turns into words."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner

from sfumato.cli import app


def told(*words: Any) -> dict[str, Any]:
    """Return the JSON object that a command prints; raise what it raises."""
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    found = json.loads(done.stdout)
    assert done.exit_code == int(not found.get("satisfied", True))
    return dict(found)
