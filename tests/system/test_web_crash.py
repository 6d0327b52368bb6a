"""What goes wrong around a job of the web app: a source that changes, a disk that is full."""

from __future__ import annotations

import shutil
import sys
import time

import pytest

from websites import PEOPLE, PLAN, visited

pytestmark = [pytest.mark.slow, pytest.mark.posix, pytest.mark.more]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


@pytest.fixture
def browser(folder):
    with visited(folder) as found:
        yield found


def ended(browser, answer):
    """Return the page of a job once it has ended, and how."""
    address = answer.headers["location"]
    job, until = address.rpartition("/")[2], time.monotonic() + 120
    while browser.state.jobs.get(job).under_way:
        assert time.monotonic() < until
        time.sleep(0.1)
    return browser.text(address), browser.state.jobs.get(job)


def test_a_source_that_changes_before_the_run_is_said_and_the_run_can_be_asked_for_again(browser, folder):
    source = folder / "people.csv"
    source.write_text(PEOPLE.replace("name,age,town,illness", "name,age,town,disease"), encoding="utf-8")
    page, job = ended(browser, browser.fill("/plans/plan.toml/run"))
    source.write_text(PEOPLE, encoding="utf-8")
    _, again = ended(browser, browser.fill(f"/jobs/{job.id}/again"))

    assert (job.state, job.exit, again.state) == ("wrong", 2, "finished")
    assert "illness" in page
    assert not any(cell in page for cell in ("Marker", "asthma"))
    assert len(list((folder / "runs").iterdir())) == 1


@pytest.mark.skipif(
    shutil.which("prlimit") is None, reason="prlimit is not installed: nothing can stand for a full disk"
)
def test_a_full_disk_is_said_and_leaves_nothing_but_the_job(browser, folder):
    head, rows = PEOPLE.split("\n", 1)
    (folder / "people.csv").write_text(f"{head}\n{rows * 60}", encoding="utf-8")
    before = {path.name for path in folder.iterdir()}
    browser.state.jobs.command = ("prlimit", "--fsize=40000", sys.executable, "-m", "sfumato")
    page, job = ended(browser, browser.fill("/plans/plan.toml/run"))

    assert (job.state, job.exit) == ("wrong", 2)
    assert "cannot be written" in page
    assert {path.name for path in folder.iterdir()} - before <= {"runs"}
    assert list((folder / "runs").iterdir()) == []
    assert (folder / "plan.toml").read_text(encoding="utf-8") == PLAN
