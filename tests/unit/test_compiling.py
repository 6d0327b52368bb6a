"""Where compiled loops are kept, and that they work where nothing can be kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import sfumato
from sfumato.compiling import when_compiling

LOOP = """
import sys
from sfumato.compiling import kernel

@kernel
def add_up(numbers):
    total = 0
    for number in numbers:
        total += number
    return total

import numpy as np
if "--full" in sys.argv:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no byte can be written, as on a full disk
print(add_up(np.arange(5)), sum(add_up.stats.cache_hits.values()))
"""


@pytest.fixture
def place(tmp_path):
    """A folder with a loop in it, where numba finds no folder to keep compiled code in."""
    code = tmp_path / "code"
    code.mkdir()
    (code / "loop.py").write_text(LOOP)
    (code / "__pycache__").write_text("a file, so nothing can be put into it")
    return tmp_path


def run(place, *arguments, **environment):
    nowhere = str(place / "code" / "loop.py" / "nowhere")
    settings = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "NUMBA_CACHE_DIR": nowhere, **environment}
    python_path = str(Path(sfumato.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(place / "code" / "loop.py"), *arguments],
        env=os.environ | settings | {"PYTHONPATH": python_path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    total, hits = done.stdout.split()
    assert total == "10"
    return int(hits)


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_where_nothing_can_be_written_loops_work_all_the_same(place):
    before = files(place)

    assert run(place) == 0
    assert run(place) == 0
    assert files(place) == before


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_they_are_kept_where_the_user_can_write(place, variable):
    store = place / "store"

    assert run(place, **{variable: str(store)}) == 0
    assert files(store)
    assert run(place, **{variable: str(store)}) == 1


def test_they_are_kept_beside_the_source_where_that_can_be_written(place):
    (place / "code" / "__pycache__").unlink()
    nothing = {"NUMBA_CACHE_DIR": ""}

    assert run(place, **nothing) == 0
    assert run(place, **nothing) == 1
    assert list((place / "code" / "__pycache__").glob("*.nbc"))


@pytest.mark.posix
def test_a_full_disk_costs_nothing_but_time(place):
    store = place / "store"

    assert run(place, "--full", NUMBA_CACHE_DIR=str(store)) == 0
    assert files(store) == []


@pytest.mark.parametrize("ending", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("content", [b"", b"damaged"])
def test_damaged_files_cost_nothing_but_time(place, ending, content):
    store = place / "store"
    run(place, NUMBA_CACHE_DIR=str(store))
    for path in store.rglob(ending):
        path.write_bytes(content)

    assert run(place, NUMBA_CACHE_DIR=str(store)) == 0


def test_compiling_is_told_once():
    told = []
    double = numba.njit(lambda x: x * 2)

    with when_compiling(lambda: told.append("compiling")):
        double(1)
        double(1.5)

    assert told == ["compiling"]
    numba.njit(lambda x: x * 3)(1)
    assert told == ["compiling"]
