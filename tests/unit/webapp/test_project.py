"""The project's folder, its lock, and where the server listens."""

from __future__ import annotations

import json
import os
import socket

import pytest

from sfumato.errors import OutputError
from sfumato.processes import born
from sfumato.webapp.project import Lock, Project, write_private
from sfumato.webapp.server import _sockets


def test_what_the_app_keeps_is_for_its_owner(tmp_path):
    project = Project.at(tmp_path)
    write_private(project.hidden / "note", "x")

    assert os.name != "posix" or project.hidden.stat().st_mode & 0o777 == 0o700
    assert os.name != "posix" or (project.hidden / "note").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_not_there_is_told_in_words(tmp_path):
    with pytest.raises(OutputError, match="cannot be used"):
        Project.at(tmp_path / "none")


def test_the_server_listens_on_this_machine_alone_and_the_system_chooses_the_port():
    sockets = _sockets(0)
    addresses = {each.getsockname()[0] for each in sockets}
    ports = {each.getsockname()[1] for each in sockets}
    for each in sockets:
        each.close()

    assert "127.0.0.1" in addresses
    assert addresses <= {"127.0.0.1", "::1"}
    assert len(ports) == 1
    assert ports != {0}


def test_a_port_that_is_taken_is_told_in_words():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OutputError, match="--port"):
            _sockets(taken.getsockname()[1])


def test_a_lock_of_a_process_that_is_gone_holds_nobody_up(tmp_path):
    lock = Lock(tmp_path / "lock")
    assert lock.holder() is None
    lock.path.write_text(json.dumps({"pid": os.getppid(), "since": "another time", "port": 1}), encoding="utf-8")
    assert lock.holder() is None
    lock.path.write_text(json.dumps({"pid": os.getppid(), "since": born(os.getppid()), "port": 77}), encoding="utf-8")

    assert lock.holder()["port"] == 77


def test_the_lock_says_who_has_it(tmp_path):
    lock = Lock(tmp_path / "lock")
    lock.take(4000)

    assert json.loads(lock.path.read_text(encoding="utf-8"))["since"] == born(os.getpid())
    lock.leave()
    assert not lock.path.exists()


@pytest.mark.posix
def test_plans_and_runs_are_found_and_links_are_not_followed(tmp_path):
    (tmp_path / "a.toml").write_text("[columns.x]\n", encoding="utf-8")
    (tmp_path / "b.toml").write_text("[tool]\n", encoding="utf-8")
    for name in ("runs/one", "two"):
        (tmp_path / name / "private").mkdir(parents=True)
        (tmp_path / name / "private" / "run.json").write_text("{}", encoding="utf-8")
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "two")
    project = Project.at(tmp_path)

    assert project.plans() == ["a.toml"]
    assert set(project.runs()) == {"one", "two"}
    assert project.plan("b.toml") is None
