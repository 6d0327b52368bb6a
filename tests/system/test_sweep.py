"""`sfumato sweep` as a user types it: exit codes, going on after Ctrl-C and after kill, and the page in a browser."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from browsing import BROWSER, opened
from commands import sfumato

ENVIRONMENT = {**os.environ, "COLUMNS": "60", "NO_COLOR": "1"}
PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
[columns.job]
role = "quasi-identifier"
[columns.disease]
role = "sensitive"
[[require]]
model = "k-anonymity"
k = 2
[[require]]
model = "t-closeness"
sensitive = "disease"
t = 0.5
"""


def sweep(folder, *words):
    return sfumato("sweep", "plan.toml", *words, cwd=folder, COLUMNS="60")


def write(folder, rows):
    chance = random.Random(8)
    lines = ["age,job,disease"]
    for _ in range(rows):
        lines.append(f"{chance.randint(18, 90)},job {chance.randint(1, 9)},{chance.choice(['flu', 'cold', 'HIV'])}")
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "plan.toml").write_text(PLAN, encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, 120)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("sweep"), 150)
    done = sweep(folder, "--vary", "k=2,5,10,200", "--vary", "t=0.2..0.4", "--out", "out")
    assert done.returncode == 0, done.stderr
    return folder / "out", done


def test_it_says_what_each_combination_costs_within_60_columns(swept):
    out, done = swept

    assert "9 of 12 combinations can be met" in done.stdout
    assert done.stdout.count("cannot be met") == 3
    assert max(map(len, done.stdout.splitlines())) <= 60
    assert done.stderr == ""
    assert sorted(path.name for path in out.iterdir()) == ["cells", "sweep.csv", "sweep.html", "sweep.json"]


def test_json_has_the_facts_and_nothing_else_is_printed(folder):
    done = sweep(folder, "--vary", "k=2,4", "--jobs", 1, "--json")

    facts = json.loads(done.stdout)
    assert done.returncode == 0
    assert facts["out"] == "sfumato-sweep"
    assert facts == {
        "out": facts["out"],
        **json.loads((folder / "sfumato-sweep" / "sweep.json").read_text(encoding="utf-8")),
    }


def test_nothing_that_holds_is_exit_code_1(folder):
    done = sweep(folder, "--vary", "k=121,122", "--out", "out", "--jobs", 1)

    assert done.returncode == 1
    assert "None of 2 combinations can be met" in done.stdout
    assert (folder / "out" / "sweep.html").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--vary", "kk=2"], "Did you mean 'k'"),
        (["--vary", "k=0"], "k=0"),
        (["--vary", "k"], "no name with values"),
        (["--vary", "k=2", "--loss", "joy"], "is not measured"),
        ([], "--vary"),
    ],
)
def test_bad_input_is_exit_code_2(folder, words, expected):
    done = sweep(folder, *words, "--out", "out", "--jobs", 1)

    assert done.returncode == 2, done.stderr
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out" / "sweep.csv").exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("plan.toml", "quasi-identifier", "quasi-identifer", "Did you mean"),
        ("plan.toml", "people.csv", "peple.csv", "no such file"),
        ("people.csv", "age,job", "age,jobs", "does not have"),
    ],
)
def test_errors_of_plan_and_data_come_through(folder, file, old, new, expected):
    path = folder / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    done = sweep(folder, "--vary", "k=2,3", "--out", "out")

    assert done.returncode == 2
    assert expected in done.stderr
    assert not (folder / "out").exists()


def started(folder):
    """Start a long sweep and return it once some combinations, but not all, are finished."""
    command = [
        sys.executable,
        "-m",
        "sfumato",
        "sweep",
        "plan.toml",
        "--vary",
        "k=2..60/40",
        "--out",
        "out",
        "--jobs",
        "2",
    ]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while len(list((folder / "out" / "cells").glob("*.json"))) < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def left(folder):
    return [path.name for path in (folder / "out").rglob("*") if path.is_file()]


def gone(group):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.posix
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path):
    folder = write(tmp_path, 3000)
    process = started(folder)

    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the command
    _, said = process.communicate(timeout=60)

    assert process.returncode == 130, said
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert not [name for name in left(folder) if "tmp" in name or name.startswith("sweep")]
    before = len(left(folder))
    assert gone(process.pid)
    done = sweep(folder, "--vary", "k=2..60/40", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["cells"]) > before - 1


@pytest.mark.posix
def test_a_killed_sweep_leaves_no_process_and_goes_on(tmp_path):
    folder = write(tmp_path, 3000)
    process = started(folder)

    process.kill()
    process.communicate(timeout=60)

    assert gone(process.pid)
    assert not [name for name in left(folder) if name.startswith("sweep")]
    assert sweep(folder, "--vary", "k=2..60/40", "--out", "out").returncode == 0


@pytest.mark.more
@pytest.mark.skipif(BROWSER is None, reason="needs a browser to open the page in")
def test_the_page_opens_in_a_browser_without_network(swept, tmp_path):
    dom, console, hosts = opened(swept[0] / "sweep.html", tmp_path, "--dump-dom")

    assert console == []
    assert hosts == []
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", dom)
    assert headings == ["Strictness and loss", "All combinations", "What cannot be met", "How to reproduce it"]
    assert "9 of 12 combinations can be met" in dom
    chosen = len(re.findall(r'type="radio" name="up"', dom)), len(re.findall(r'type="radio" name="across"', dom))
    assert chosen[0] > 2  # losses, and who is exposed
    assert chosen[1] == 3  # strictness, k and t
    assert len(re.findall("<circle", dom)) == chosen[0] * chosen[1] * 9
    assert len(re.findall(r'role="img" aria-label="[^"]+"', dom)) == chosen[0] * chosen[1]


@pytest.mark.more
@pytest.mark.skipif(BROWSER is None, reason="needs a browser to open the page in")
@pytest.mark.parametrize("width", [400, 800, 1280])
def test_nothing_sticks_out_of_the_window_and_the_table_fits_its_frame(swept, tmp_path, width):
    allowed = re.sub(r"<meta http-equiv[^>]*>", "", (swept[0] / "sweep.html").read_text(encoding="utf-8"))
    script = (
        "const fits = (inside, outside) => inside <= outside; const frame = document.querySelector('.panel.scroll');"
        "document.title = fits(document.documentElement.scrollWidth, window.innerWidth)"
        " && fits(frame.scrollWidth, frame.clientWidth) ? 'fits' : 'too wide'"
    )
    path = tmp_path / "narrow.html"
    path.write_text(allowed.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")

    dom, _, _ = opened(path, tmp_path, "--dump-dom", f"--window-size={width},900")

    assert "<title>fits</title>" in dom
