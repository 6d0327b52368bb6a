"""`sfumato web` as a process: it starts, is entered once, is killed, and what goes on finds its way back."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from websites import PEOPLE, PLAN

pytestmark = [pytest.mark.slow, pytest.mark.posix]


class Server:
    """The command in a process of its own, entered as its user enters it."""

    def __init__(self, folder):
        command = [sys.executable, "-m", "sfumato", "web", "--no-browser"]
        env = os.environ | {"PYTHONUNBUFFERED": "1", "COLUMNS": "60"}
        self.process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=env
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/enter\?token=\S+)", line)
        assert found, (line, self.process.stderr.read() if self.process.poll() is not None else "")
        self.port = int(found[1])
        status, headers, _ = self.ask("GET", found[2])
        assert status == 200
        self.cookie = headers["set-cookie"].split(";")[0]
        self.token = re.search(r'name="form_token" value="([^"]+)"', self.ask("GET", "/")[2])[1]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Cookie": getattr(self, "cookie", "")}
        if body is not None:
            headers |= {"Origin": f"http://127.0.0.1:{self.port}", "Content-Type": "application/x-www-form-urlencoded"}
            body = f"form_token={self.token}&{body}"
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()

    def until(self, path, words, seconds=90):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            page = self.ask("GET", path)[2]
            if words in page:
                return page
            time.sleep(0.2)
        raise AssertionError(f"{words!r} never was on {path}:\n{page[-3000:]}")

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return out + err


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(
        PEOPLE.split("\n", 1)[0] + "\n" + PEOPLE.split("\n", 1)[1] * 1500, encoding="utf-8"
    )
    (tmp_path / "plan.toml").write_text(PLAN.replace("k = 5\n", 'k = 5\nanonymizer = "mondrian"\n'), encoding="utf-8")
    return tmp_path


def test_it_starts_says_where_it_is_and_ends_without_a_trace(folder):
    server = Server(folder)
    assert (folder / ".sfumato" / "lock").stat().st_mode & 0o077 == 0
    second = subprocess.run(
        [sys.executable, "-m", "sfumato", "web", "--no-browser"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    said = server.end()

    assert second.returncode == 2
    assert f"port {server.port}" in second.stderr
    assert "Traceback" not in said
    assert server.process.returncode == 0
    assert not (folder / ".sfumato" / "lock").exists()
    assert "GET / 200" in (folder / ".sfumato" / "log.txt").read_text(encoding="utf-8")


def test_the_first_page_waits_for_nothing_that_only_a_run_needs():
    words = (
        "import sys, sfumato.webapp.server; print(sorted({'sfumato.attacks', 'sfumato.pipeline'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, encoding="utf-8", check=True)

    assert done.stdout.strip() == "[]"


def test_a_server_that_is_killed_hurts_no_run_and_the_next_one_finds_it(folder):
    first = Server(folder)
    job = first.ask("POST", "/plans/plan.toml/run", "")[1]["location"]
    first.until(job, 'data-state="running"')
    first.end(signal.SIGKILL)

    second = Server(folder)
    page = second.until(job, 'data-state="finished"')
    second.end()

    assert "Go on" in page
    (run,) = (folder / "runs").iterdir()
    assert (run / "release" / "data.csv").is_file()


def test_a_run_that_is_killed_is_said_to_be_and_started_again(folder):
    server = Server(folder)
    job = server.ask("POST", "/plans/plan.toml/run", "")[1]["location"]
    server.until(job, 'data-state="running"')
    kept = json.loads((folder / ".sfumato" / job.removeprefix("/") / "job.json").read_text(encoding="utf-8"))
    os.kill(kept["pid"], signal.SIGKILL)
    server.until(job, "Ended by the system")
    assert list((folder / "runs").iterdir()) == []
    again = server.ask("POST", f"{job}/again", "")[1]["location"]
    server.until(again, 'data-state="finished"')
    server.end()


def test_ctrl_c_stops_what_is_under_way_and_leaves_nothing(folder):
    server = Server(folder)
    job = server.ask("POST", "/plans/plan.toml/run", "")[1]["location"]
    server.until(job, 'data-state="running"')
    kept = folder / ".sfumato" / job.removeprefix("/") / "job.json"
    server.end()

    assert json.loads(kept.read_text(encoding="utf-8"))["state"] in ("cancelled", "finished")
    assert [path.name for path in (folder / "runs").iterdir() if path.name.startswith(".")] == []


def test_the_process_that_looks_at_data_opens_nothing_outside_of_the_roots(folder):
    outside = folder.parent / f"{folder.name}-outside.csv"
    outside.write_text("Bern;TOPSECRET;*\nChur;TOPSECRET;*\n", encoding="utf-8")
    plan = PLAN.replace("[columns.town]\n", f'[columns.town]\nhierarchy = "../{outside.name}"\n')
    (folder / "sent.toml").write_text(plan, encoding="utf-8")
    server = Server(folder)
    page = server.until("/plans/sent.toml/columns/2/hierarchy?show=yes", "The hierarchy names a file outside of")
    server.end()

    assert "--roots" in page
    assert "TOPSECRET" not in page
