"""Killed in the middle, or on a full disk: no half release, and nothing that looks like one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys

import pytest

from commands import sfumato, told

pytestmark = pytest.mark.posix

PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
[columns.disease]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 3
"""
# Runs the command line, but ends itself as kill -9 would, before or after one of its steps.
DIES = """
import os, signal, sys
from sfumato.cli import main
from sfumato.engines import local
from sfumato.pipeline import case

when, step = sys.argv[1:3]
place = local if step == "write_release" else case
original = getattr(place, step)

def last(*arguments, **options):
    if when == "after":
        original(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(place, step, last)
sys.argv[1:] = ["anonymize", "plan.toml", "--out", "out"]
main()
"""


@pytest.fixture
def folder(tmp_path):
    chance = random.Random(3)
    rows = [f"{chance.randint(20, 80)},{chance.choice(['flu', 'cold'])}" for _ in range(4000)]
    (tmp_path / "people.csv").write_text("\n".join(["age,disease", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


COMMAND = ("anonymize", "plan.toml", "--out", "out")


def anonymize(folder):
    return sfumato(*COMMAND, cwd=folder)


def left(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in ("people.csv", "plan.toml"))


@pytest.mark.parametrize(
    ("when", "step"),
    [
        ("before", "write_release"),
        ("after", "write_release"),
        ("before", "judge"),
        ("after", "judge"),
    ],
)
def test_a_killed_run_leaves_nothing_that_looks_like_a_release_and_the_next_one_sweeps_up(folder, when, step):
    done = subprocess.run([sys.executable, "-c", DIES, when, step], cwd=folder, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr

    assert not (folder / "out").exists()
    assert not [path for path in folder.rglob("*") if path.name == "release"]
    assert all(name.startswith(".") for name in left(folder))
    for path in folder.iterdir():
        if path.name.startswith("."):
            assert path.stat().st_mode & 0o077 == 0  # for its owner only

    assert anonymize(folder).returncode == 0
    assert left(folder) == ["out"]
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["private", "release"]


@pytest.mark.parametrize(
    ("when", "step"), [("before", "measure_all"), ("after", "measure_all"), ("after", "attack_all")]
)
def test_a_run_killed_while_it_measures_leaves_an_audited_release_that_every_verb_reads(folder, when, step):
    done = subprocess.run([sys.executable, "-c", DIES, when, step], cwd=folder, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr

    assert left(folder) == ["out"]
    assert sorted(path.name for path in (folder / "out").rglob("*") if path.is_file()) == [
        "README.md",
        "data.csv",
        "release.json",
        "report.html",
        "run.json",
    ]
    assert told("audit", folder / "out", "--plan", folder / "plan.toml")["satisfied"]
    assert told("measure", folder / "out" / "release", "--plan", folder / "plan.toml")["measurements"]
    assert told("attack", folder / "out", "--plan", folder / "plan.toml")["attacks"]
    assert told("report", folder / "out")["pending"] == []
    facts = json.loads((folder / "out" / "private" / "run.json").read_text(encoding="utf-8"))
    assert facts["measurements"]
    assert facts["attacks"]
    assert anonymize(folder).returncode == 2  # it is a run as any other, and stays
    assert told("anonymize", folder / "plan.toml", "--out", folder / "out", "--overwrite")["pending"] == []


def test_what_a_living_process_works_on_is_left_alone(folder):
    from sfumato.disk import atomic_folder

    with atomic_folder(folder / "out") as under_way:
        (under_way / "mine").write_text("", encoding="utf-8")
        with atomic_folder(folder / "out") as other:
            assert (under_way / "mine").exists()
            assert other != under_way
            raise_later = sorted(path.name for path in folder.iterdir())
        assert len([name for name in raise_later if ".tmp-" in name]) == 2
        os.rename(folder / "out", folder / "first")  # noqa: PTH104 - make room for the other one


def limited(most):
    import resource  # there on POSIX only

    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@pytest.mark.parametrize("most", [0, 1000, 30_000])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_full_disk_leaves_nothing_but_what_was_audited_and_says_so(folder, most, form):
    (folder / "plan.toml").write_text(f'{PLAN}[release]\nformat = "{form}"\n', encoding="utf-8")

    # No file may grow beyond this: what a full disk is to whoever writes.
    command = [sys.executable, "-m", "sfumato", *COMMAND]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, encoding="utf-8", check=False, preexec_fn=lambda: limited(most)
    )

    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "cannot be written" in done.stderr
    assert ".tmp-" not in done.stderr
    if not left(folder):
        return
    # There was room for the release and not for all figures about it: what was audited stays, and that is said.
    assert "out was written. Its release was audited" in done.stderr
    assert told("report", folder / "out")["pending"] == []
