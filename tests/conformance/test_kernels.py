"""Every compiled loop also runs as plain Python, with the same answers: one law over all modules that hold loops."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys

import pytest
from numba.core.dispatcher import Dispatcher

from conformance import kernel_jobs
from house import FILES, SOURCE

# Wherever loops are: those that make a release stand in one room, but those of a judge stand beside what they judge.
MODULES = [
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    for path in FILES
    if re.search(r"^@\w*kernel\b", path.read_text(encoding="utf-8"), re.MULTILINE)
]


def loops_of(module: str) -> set[str]:
    """Return the compiled loops that a module defines."""
    found = vars(importlib.import_module(module)).items()
    return {
        f"{module}.{name}"
        for name, value in found
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module
    }


def test_loops_are_found_on_both_sides_of_the_wall():
    assert {module.split(".")[1] for module in MODULES} == {"kernels", "models"}
    assert all(map(loops_of, MODULES))


def test_every_module_with_loops_belongs_to_a_family():
    assert [module for module in MODULES if kernel_jobs.family_of(module) is None] == []


@pytest.mark.slow
@pytest.mark.parametrize("family", kernel_jobs.FAMILIES)
def test_loops_give_the_same_as_plain_python_and_none_is_left_out(family):
    program = [sys.executable, kernel_jobs.__file__, family]
    done = subprocess.run(program, capture_output=True, encoding="utf-8", check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    plain = json.loads(done.stdout)

    compiled = kernel_jobs.results_of(family)

    assert plain["results"] == compiled
    loops = {loop for module in MODULES if kernel_jobs.family_of(module) == family for loop in loops_of(module)}
    assert loops, family
    assert sorted(loops - set(plain["reached"])) == []
