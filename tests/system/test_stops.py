"""A command that is stopped, or that nobody listens to, still tells the truth by its exit code and its words."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
# Runs the command line with an audit that takes its time, or that breaks as a bug would.
SLOW = """
import sys, time
from sfumato.cli import main
from sfumato.models import KAnonymity
from pathlib import Path

def audit(self, release, *, name_items=False):
    Path("auditing").write_text("", encoding="utf-8")
    time.sleep(60)

KAnonymity.audit = audit
main()
"""
MEASURING = """
import time
from pathlib import Path
from sfumato.cli import main
from sfumato.pipeline import case

def measure(*arguments, **options):
    Path("measuring").write_text("", encoding="utf-8")
    time.sleep(60)

case.measure_all = measure
main()
"""
BROKEN = """
from sfumato.cli import main
from sfumato.models import KAnonymity

class GivenUp(BaseException):  # as libraries in Rust raise it
    pass

def audit(self, release, *, name_items=False):
    if KIND == "an error":
        return release.no_such_thing
    if KIND == "a library that the system lacks":
        raise ImportError("no_such_thing.so: cannot open shared object file: No such file or directory")
    raise GivenUp("no_such_thing")

KAnonymity.audit = audit
main()
"""


@pytest.fixture
def folder(tmp_path):
    chance = random.Random(3)
    rows = [f"{chance.randint(20, 60)},{chance.choice(['flu', 'cold'])}" for _ in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["age,disease", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def stopped(folder, program, sign, number):
    """Return what a command prints that gets a signal when it leaves a sign."""
    command = [sys.executable, "-c", program, "anonymize", "plan.toml", "--out", "out", "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
    deadline = time.monotonic() + 120
    while not (folder / sign).exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    output, words = process.communicate(timeout=60)
    assert process.returncode == 130
    return output, words


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)])
def test_a_stop_says_so_leaves_nothing_and_prints_the_json_object(folder, number):
    output, words = stopped(folder, SLOW, "auditing", number)

    assert "Stopped. Nothing was written." in words
    assert json.loads(output) == {"error": "Stopped. Nothing was written.", "exit_code": 130}
    left = {path.name for path in folder.iterdir()} - {"auditing", "people.csv", "plan.toml"}
    assert not left


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
def test_a_stop_while_measuring_says_that_the_release_stays_and_how_to_go_on(folder):
    output, words = stopped(folder, MEASURING, "measuring", signal.SIGTERM)

    said = "Stopped. out was written. Its release was audited; `sfumato report out` completes the rest."
    assert json.loads(output)["error"] == said
    assert said in " ".join(words.split())
    assert (folder / "out" / "release" / "data.csv").is_file()


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
@pytest.mark.parametrize("before", ["", "import resource; resource.setrlimit(resource.RLIMIT_AS, (64 << 30,) * 2)\n"])
def test_a_terminal_that_closes_says_so_twice_and_nothing_unaudited_is_left(folder, before):
    """A shell and the system both send SIGHUP, also to the process that watches a limit of memory."""
    slow = SLOW.replace("    time.sleep(60)", "    os.killpg(0, 1); time.sleep(60)").replace(
        "import sys", "import os, sys"
    )
    tidying = """
import signal, shutil
from sfumato import disk

def rmtree(*arguments, **options):
    os.killpg(0, 1)
    return removed(*arguments, **options)

removed, disk.shutil.rmtree = shutil.rmtree, rmtree
main()
"""
    program = before + slow.removesuffix("main()\n") + tidying
    command = [sys.executable, "-c", program, "anonymize", "plan.toml", "--out", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, start_new_session=True, check=False, timeout=120)

    assert done.returncode == 130, done.stderr
    assert not {path.name for path in folder.iterdir()} - {"auditing", "people.csv", "plan.toml"}


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX has them")
def test_a_command_under_nohup_goes_on_when_its_terminal_closes(folder):
    going_on = SLOW.replace("time.sleep(60)", "os.kill(os.getpid(), 1); return judged(self, release)")
    going_on = going_on.replace("import sys", "import os, sys").replace(
        "def audit", "judged = KAnonymity.audit\ndef audit"
    )
    start = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{going_on}"
    command = [sys.executable, "-c", start, "anonymize", "plan.toml", "--out", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)

    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "release" / "data.csv").is_file()


def sfumato(folder, *words, **options):
    return subprocess.run([sys.executable, "-m", "sfumato", *words], cwd=folder, check=False, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_output_that_cannot_be_written_changes_no_exit_code(folder):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        made = sfumato(
            folder, "anonymize", "plan.toml", "--out", "out", stdout=full, stderr=subprocess.PIPE, encoding="utf-8"
        )
        raw = sfumato(folder, "audit", "people.csv", "--plan", "plan.toml", stdout=full, stderr=subprocess.PIPE)
        wrong = sfumato(folder, "audit", "nothing.csv", "--plan", "plan.toml", "--json", stdout=full, stderr=full)

    assert made.returncode == 0
    assert "Nothing was written" not in made.stderr
    assert (folder / "out" / "release" / "data.csv").is_file()
    assert raw.returncode == 1
    assert wrong.returncode == 2


def test_a_closed_pipe_changes_no_exit_code(folder):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = sfumato(folder, "audit", "people.csv", "--plan", "plan.toml", stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)

    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.posix
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_exit_code_and_no_file(folder, closed):
    command = f"'{sys.executable}' -m sfumato anonymize plan.toml --out out --seed 1 {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    heard = sfumato(folder, "anonymize", "plan.toml", "--out", "heard", "--seed", "1", capture_output=True)

    assert (done.returncode, heard.returncode) == (0, 0)
    assert "Traceback" not in done.stderr
    assert (folder / "out/release/data.csv").read_bytes() == (folder / "heard/release/data.csv").read_bytes()


@pytest.mark.parametrize("debug", ["", "1"])
@pytest.mark.parametrize("kind", ["an error", "what is no Exception", "a library that the system lacks"])
def test_a_bug_shows_its_trace_to_who_asks_whatever_the_class_of_its_error(folder, kind, debug):
    command = [sys.executable, "-c", f"KIND = {kind!r}\n{BROKEN}", "anonymize", "plan.toml", "--out", "out"]
    environment = {**os.environ, "SFUMATO_DEBUG": debug}

    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)

    assert done.returncode == 3
    assert ("Traceback" in done.stderr) is bool(debug)
    assert ("no_such_thing" in done.stderr) is bool(debug)
    assert not (folder / "out").exists()


def test_a_terminal_gets_no_values_of_columns_as_json(folder):
    made = sfumato(folder, "anonymize", "plan.toml", "--out", "out", "--json", capture_output=True, encoding="utf-8")
    measured = sfumato(folder, "measure", "out", "--plan", "plan.toml", "--json", capture_output=True, encoding="utf-8")

    assert made.returncode == measured.returncode == 0
    assert len(json.loads(made.stdout)["measurements"]) == len(json.loads(measured.stdout)["measurements"]) > 3
    for words in (made.stdout, measured.stdout):
        assert "flu" not in words
        assert "cold" not in words
    kept = (folder / "out" / "private" / "run.json").read_text(encoding="utf-8")
    assert "flu" in kept  # the holder's own record has them
