"""Compiling while data are read: when another process is started for it, and that it ends with the run."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sfumato as sf
from sfumato.compiling import while_compiling
from sfumato.engines import LocalEngine
from sfumato.pipeline import ahead
from sfumato.pipeline.ahead import compiling_ahead, for_the_first_time

PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
[[require]]
model = "k-anonymity"
k = 2
"""
SLEEPING = (sys.executable, "-c", "import time; time.sleep(600)")


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "store"))
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "people.csv").write_text(
        "age\n" + "".join(f"{20 + row % 40}\n" for row in range(200)), encoding="utf-8"
    )
    return sf.Plan.load(tmp_path / "plan.toml")


@pytest.fixture
def started(monkeypatch):
    """Start something else in place of what would compile, and note in which words it was asked for."""
    asked: list[list[str]] = []
    children: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(words, **options):
        asked.append(words)
        children.append(real(list(start.instead), **options))
        return children[-1]

    start.instead = (sys.executable, "-c", "")
    monkeypatch.setattr(ahead.subprocess, "Popen", start)
    monkeypatch.setattr(ahead, "LARGE", 1)
    start.asked, start.children = asked, children
    yield start
    for child in children:
        child.kill()
        child.wait()


def test_a_source_that_is_read_at_once_is_not_worth_it(plan, started, monkeypatch):
    monkeypatch.setattr(ahead, "LARGE", 1 << 24)
    with compiling_ahead(plan, LocalEngine()):
        pass
    assert started.asked == []


def test_a_large_source_has_it_once(plan, started):
    for _ in range(2):
        with compiling_ahead(plan, LocalEngine()):
            pass
    assert [words[1:] for words in started.asked] == [["-m", "sfumato", "warm", str(plan.path)]]


def test_another_model_or_option_has_it_again(plan, started):
    text = plan.path.read_text(encoding="utf-8")
    more = '[[require]]\nmodel = "l-diversity"\nsensitive = "ill"\nl = 2\n[columns.ill]\nrole = "sensitive"\n'
    for words in (text, text + "[anonymizers.mondrian]\ncut = 'width'\n", text + more):
        plan.path.write_text(words, encoding="utf-8")
        with compiling_ahead(sf.Plan.load(plan.path), LocalEngine()):
            pass
    assert len(started.asked) == 3


def test_where_nothing_can_be_kept_nobody_is_started(plan, started, monkeypatch):
    def no_folder(function):
        raise RuntimeError("no folder can be written to")

    monkeypatch.setattr("sfumato.compiling.FunctionCache", no_folder)
    with compiling_ahead(plan, LocalEngine()):
        pass
    assert started.asked == []


@pytest.mark.slow
def test_who_waits_for_it_is_told_as_of_loops_of_this_process(plan, started):
    started.instead = (sys.executable, "-c", "import time; time.sleep(.5)")
    begun, done = [], []
    with while_compiling(begun.append, lambda: done.append(1)), compiling_ahead(plan, LocalEngine()):
        assert not begun
    assert started.children[0].poll() == 0
    assert len(begun) == len(done) == 1


@pytest.mark.parametrize("end", [KeyboardInterrupt, sf.DataError])
def test_it_ends_with_the_run_however_that_ends(plan, started, end):
    started.instead = SLEEPING
    with pytest.raises(end), compiling_ahead(plan, LocalEngine()):
        raise end("stopped")
    assert started.children[0].poll() is not None


@pytest.mark.slow
def test_a_run_waits_between_its_data_and_its_first_step(plan, started, monkeypatch, tmp_path):
    order, sign = [], tmp_path / "waited for"
    monkeypatch.setattr(ahead, "compiled_elsewhere", _noting(order, sign, ahead.compiled_elsewhere))
    until = f"import pathlib, time\nwhile not pathlib.Path({str(sign)!r}).exists(): time.sleep(.05)"
    started.instead = (sys.executable, "-c", until)

    class Steps:
        def stage(self, name, total=None):
            order.append(name)
            return sf.progress.SILENT.stage(name)

    sf.run(plan, tmp_path / "run", seed=1, progress=Steps())

    assert order.index("read") < order.index("waited") < order.index("mondrian")


def test_what_was_compiled_ahead_by_hand_is_not_compiled_again(plan, started):
    assert for_the_first_time(plan)
    with compiling_ahead(plan, LocalEngine()):
        pass
    assert started.asked == []


def _noting(order, sign, wrapped):
    def noted(name):
        order.append("waited")
        sign.touch()
        return wrapped(name)

    return noted
