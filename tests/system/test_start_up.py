"""Start-up: commands load what they need and nothing else. Counted in modules: seconds are for benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = ("numpy", "pyarrow", "numba", "scipy", "jinja2", "cryptography", "highspy", "narwhals", "urllib.request")


def loaded(folder, *words):
    """Return the modules that a command loads, and how it ended."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "sfumato", *map(str, words)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"NO_COLOR": "1"},
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}, done.returncode


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["audit", "--help"], ["sweep", "--help"]])
def test_help_loads_nothing_heavy(words, tmp_path):
    modules, exit_code = loaded(tmp_path, *words)

    assert exit_code == 0
    assert not modules & set(HEAVY)


def test_an_audit_loads_no_frames_no_solver_and_no_page(tmp_path):
    (tmp_path / "people.csv").write_text("age,job\n" + "30,nurse\n31,cook\n" * 10, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(
        '[columns.age]\nrole = "quasi-identifier"\n[columns.job]\nrole = "sensitive"\n'
        '[[require]]\nmodel = "k-anonymity"\nk = 5\n',
        encoding="utf-8",
    )

    modules, exit_code = loaded(tmp_path, "audit", "people.csv", "--plan", "plan.toml")

    assert exit_code == 0
    assert "numpy" in modules
    assert not modules & {"pandas.core", "jinja2", "highspy", "cryptography", "sfumato.report.page"}
    assert not modules & {"scipy.optimize", "scipy.sparse", "scipy.special", "urllib.request"}
