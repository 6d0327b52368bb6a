import json
from pathlib import Path

import pytest


@pytest.fixture
def facts():
    """The facts of one run, with every kind of column and every measurement."""
    return json.loads(Path(__file__).with_name("run.json").read_text(encoding="utf-8"))
