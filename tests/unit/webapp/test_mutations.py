"""Every guard of the web app, S1 to S16, with a probe that fails once the guard is taken out.

`docs/howto/web-security.md` says what each stands for. A probe is run twice: as things are it must pass, and with its
guard taken out (a mutation) it must fail. A guard that nobody would miss is found here.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import socket
import sys
import time
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import pytest
from starlette.responses import HTMLResponse
from starlette.testclient import TestClient

import sfumato as sf
from sfumato import disk
from sfumato.webapp import guard, jobs, project, server, showing
from sfumato.webapp.guard import Session
from sfumato.webapp.pages import opening, runs, start
from websites import HOME, PEOPLE, PLAN, PORT, visited

MUTATIONS = []


def guards(name, *takes_out):
    """A probe of a guard, with the ways to take the guard out."""

    def listed(probe):
        MUTATIONS.extend((f"{name} {probe.__name__}", probe, each) for each in takes_out)
        return probe

    return listed


def sets(owner, name, value):
    return lambda patch: patch.setattr(owner, name, value)


def without_check(check):
    return sets(guard, "CHECKS", tuple(each for each in guard.CHECKS if each is not check))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A project with a run."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "people.csv").write_text(PEOPLE.replace("Bern", "=cmd()"), encoding="utf-8")
    plan = PLAN.replace("hierarchy = { widths = [5, 10, 20] }", "").replace("k = 5", "k = 2")
    (folder / "plan.toml").write_text(
        plan.replace('role = "quasi-identifier"\n[columns.illness]', 'role = "other"\n[columns.illness]'),
        encoding="utf-8",
    )
    (folder / "runs").mkdir()
    sf.run(sf.Plan.load(folder / "plan.toml"), folder / "runs" / "first", seed=1, attack=False)
    return folder


def answers(browser, method="GET", path="/help", **headers):
    """The status of an answer to a request with other headers than a browser of ours would send."""
    client = TestClient(browser.app, base_url=HOME, cookies=dict(browser.cookies))
    return client.request(method, path, headers=headers, data={"form_token": browser.session.form_token}).status_code


# S1, S2: where it listens.


@guards("S1", sets(server, "_LOOPBACK", ((socket.AF_INET, "0.0.0.0"),)))
def listens_on_this_machine_alone(folder):
    sockets = server._sockets(0)
    addresses = {each.getsockname()[0] for each in sockets}
    for each in sockets:
        each.close()
    assert addresses <= {"127.0.0.1", "::1"}


@contextmanager
def served_without_a_server(seen):
    """`serve` with everything but the server itself."""

    class Stub:
        def __init__(self, config):
            self.config = config

        def run(self, sockets):
            seen.files = {path.name: path.stat().st_mode & 0o777 for path in seen.folder.rglob("*")}
            (seen.folder / "written").write_text("by whoever", encoding="utf-8")
            seen.written = (seen.folder / "written").stat().st_mode & 0o777
            for each in sockets:
                each.close()

    umask = os.umask(0o022)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server.uvicorn, "Server", Stub)
        patch.setattr(server.webbrowser, "open", lambda address: setattr(seen, "opened", address))
        real = server._sockets
        patch.setattr(server, "_sockets", lambda port: setattr(seen, "port", port) or real(0))
        patch.setattr(server.tempfile, "tempdir", None)
        try:
            yield
        finally:
            os.umask(umask)
            for handler in list(guard.log.handlers):
                guard.log.removeHandler(handler)
                handler.close()
            guard.log.propagate = True


def served(folder):
    seen = SimpleNamespace(folder=folder, said=[])
    with served_without_a_server(seen):
        server.serve(folder, say=seen.said.append)
    return seen


@guards("S2", lambda patch: patch.setitem(server.serve.__kwdefaults__, "port", 8000))
def lets_the_system_choose_the_port(folder):
    assert served(folder).port == 0


# S3: the token and the cookie.


class Reusable(Session):
    def enter(self, token):
        before, value = self._token, super().enter(token)
        self._token = before
        return value


@guards("S3", sets(sys.modules[__name__], "Session", Reusable))
def a_token_is_good_once(folder):
    session = Session()
    token = session.new_token()
    assert session.enter(token) is not None
    assert session.enter(token) is None


@guards("S3", sets(guard, "TOKEN_SECONDS", float("inf")))
def a_token_gets_too_old(folder):
    now = [0.0]
    session = Session(clock=lambda: now[0])
    token = session.new_token()
    now[0] = 601.0
    assert session.enter(token) is None


def loose_cookie(self, name, value, **options):
    self.headers.append("set-cookie", f"{name}={value}; Path=/")


def redirected(*given, **options):
    return HTMLResponse("", 303, {"location": "/"})


@guards("S3", sets(HTMLResponse, "set_cookie", loose_cookie), sets(start, "HTMLResponse", redirected))
def the_door_answers_with_a_page_and_a_cookie_for_this_site_alone(folder):
    with visited(folder) as browser:
        answer = browser.get(f"/enter?token={browser.session.new_token()}", follow_redirects=False)
    cookie = answer.headers.get("set-cookie", "")
    assert answer.status_code == 200
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


@guards(
    "S3",
    sets(server, "write_private", lambda path, text: path.write_text(text, encoding="utf-8")),
    sets(server.Path, "as_uri", lambda path: path.read_text(encoding="utf-8")),
)
def the_address_stands_in_a_file_of_its_owner_and_on_no_command_line(folder):
    os.umask(0o022)  # the guard of S16 must not stand in for this one
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server.os, "umask", lambda mask: 0)
        seen = served(folder)
    assert seen.files["enter.html"] == 0o600
    assert "token" not in seen.opened


# S4, S5: who asks.


@guards("S4", without_check(guard._host))
def a_name_that_leads_here_is_not_enough(folder):
    with visited(folder) as browser:
        assert answers(browser, host=f"evil.example:{PORT}") == 421
        assert answers(browser, host="127.0.0.1") == 421


@guards("S5", without_check(guard._site))
def another_site_gets_no_page(folder):
    with visited(folder) as browser:
        assert answers(browser, **{"sec-fetch-site": "cross-site"}) == 403


@guards("S5", without_check(guard._origin))
def another_origin_sends_no_form(folder):
    with visited(folder) as browser:
        assert answers(browser, "POST", "/quit", origin="http://evil.example") == 403
        assert answers(browser, "POST", "/quit") == 403


@guards("S5", without_check(guard._session))
def nobody_comes_in_without_the_cookie(folder):
    with visited(folder) as browser:
        browser.cookies.clear()
        assert answers(browser) == 401


@guards("S5", sets(guard, "check_token", lambda request, given="": None))
def no_form_goes_without_its_token(folder):
    with visited(folder) as browser:
        assert browser.fill("/quit", form_token="wrong").status_code == 403


# S6: headers.

WANTED = {
    "content-security-policy": "default-src 'none'; script-src 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@guards(
    "S6",
    *(sets(guard, "HEADERS", {key: value for key, value in guard.HEADERS.items() if key != name}) for name in WANTED),
)
def every_answer_carries_the_headers(folder):
    with visited(folder) as browser:
        found = browser.get("/help").headers
    assert all(found.get(name, "").startswith(value) for name, value in WANTED.items())


@guards("S6", sets(runs, "_OWN_CONTENT", {}))
def the_report_has_no_rights(folder, made):
    with visited(made) as browser:
        assert "sandbox" in browser.get("/runs/first/report").headers["content-security-policy"]


# S7: files.


def anything(self, given):
    return self.folder / given


@guards("S7", sets(project.Project, "opened", anything))
def only_what_lies_inside_a_root_is_opened(folder):
    outside = folder.parent / f"{folder.name}-secret.csv"
    outside.write_text("a,b\n1,2\n", encoding="utf-8")
    with visited(folder) as browser:
        page = browser.fill("/open/reading", path=f"../{outside.name}")
    assert "no file at this path" in page.text


@guards("S7", sets(project.Project, "opened", anything))
def no_link_leads_out_of_a_root(folder):
    outside = folder.parent / f"{folder.name}-linked.csv"
    outside.write_text("a,b\n1,2\n", encoding="utf-8")
    (folder / "inside.csv").symlink_to(outside)
    with visited(folder) as browser:
        assert "no file at this path" in browser.fill("/open/reading", path="inside.csv").text


@guards("S7", sets(disk, "lies_within", lambda path, roots: True))
def no_plan_names_a_file_outside_of_a_root(folder):
    (folder.parent / f"{folder.name}-named.csv").write_text("Bern;TOPSECRET;*\nChur;TOPSECRET;*\n", encoding="utf-8")
    town = f'[columns.town]\nhierarchy = "../{folder.name}-named.csv"\n'
    plan = (folder / "plan.toml").read_text(encoding="utf-8").replace("[columns.town]\n", town)
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    with visited(folder) as browser:
        assert "TOPSECRET" not in browser.get("/plans/plan.toml/columns/2/hierarchy?show=yes").text


@guards(
    "S7", sets(runs, "files_of", lambda run, facts: ["release.json", "private%2frun.json", "plan.toml", "run.json"])
)
def a_download_is_one_of_a_list(folder, made):
    with visited(made) as browser:
        assert browser.get("/runs/first/files/run.json").status_code == 404


# S8, S9: sizes.


def put(browser, body, name="table.csv"):
    headers = {"origin": HOME, "x-form-token": browser.session.form_token, "x-name": name}
    return browser.put("/uploads/abc", content=body, headers=headers)


@guards("S8", sets(opening, "_free", lambda project, most: 1 << 60))
def an_upload_has_a_limit_and_leaves_nothing(folder):
    with visited(folder, max_upload=1000) as browser:
        assert put(browser, iter([b"x" * 600] * 3)).status_code == 413
    assert list((folder / ".sfumato" / "uploads").iterdir()) == []


@guards("S8", sets(opening, "unpacks_within", lambda path, most: True))
def unpacked_bytes_count_against_the_limit(folder):
    with visited(folder, max_upload=100_000) as browser:
        assert put(browser, gzip.compress(b"a,b\n" * 30_000), "table.csv.gz").status_code == 413
        assert list((folder / ".sfumato" / "uploads").iterdir()) == []
        assert put(browser, gzip.compress(b"a,b\n" * 20_000), "table.csv.gz").status_code == 200


@guards("S8", sets(opening.Path, "chmod", lambda path, mode: None))
def what_is_copied_in_is_for_its_owner(folder):
    with visited(folder) as browser:
        put(browser, b"a,b\n")
    (copied,) = (folder / ".sfumato" / "uploads").iterdir()
    assert copied.stat().st_mode & 0o777 == 0o600


@guards("S9", sets(guard, "BODY_BYTES", 1 << 40))
def a_form_has_a_size(folder):
    with visited(folder) as browser:
        assert browser.fill("/quit", words="x" * (2 << 20)).status_code == 413


@guards("S9", sets(guard, "MOST_FIELDS", 1 << 40))
def a_form_has_so_many_fields(folder):
    with visited(folder) as browser:
        assert browser.fill("/quit", **{f"f{number}": "1" for number in range(5_001)}).status_code == 400


@guards("S9", sets(guard, "BODY_SECONDS", 3600.0))
def a_form_is_not_waited_for(folder):
    class Clock:
        perf_counter = staticmethod(time.perf_counter)
        now = 0.0

        @classmethod
        def monotonic(cls):
            cls.now += 31.0
            return cls.now

    with visited(folder) as browser, pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "time", Clock)
        assert browser.fill("/quit").status_code == 408


@guards("S9", sets(guard, "MOST_STREAMS", 1 << 40))
def only_so_many_pages_follow_jobs(folder):
    with visited(folder) as browser:
        browser.app._streams = 8
        assert browser.get("/jobs/none/events").status_code == 503


# S10, S11: what is shown and what is kept.


def trusting(patch):
    made = showing.environment().overlay(autoescape=False)
    patch.setattr(showing, "environment", lambda: made)


@guards("S10", trusting, sets(showing, "harmless", str))
def what_comes_from_data_is_text(folder):
    (folder / "odd.csv").write_text("<b>x</b>,turned\u202eround\n1,2\n3,4\n", encoding="utf-8")
    with visited(folder) as browser:
        page = browser.fill("/open/reading", path="odd.csv").text
    assert "<b>x</b>" not in page
    assert "\u202e" not in page


@guards("S11", sets(guard, "pattern", lambda scope: scope["path"]))
def logs_say_the_route_and_nothing_that_was_filled_in(folder):
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    guard.log.addHandler(handler)
    before = guard.log.level
    guard.log.setLevel(logging.INFO)
    try:
        with visited(folder) as browser:
            browser.get("/jobs/asthma?cell=asthma")
    finally:
        guard.log.removeHandler(handler)
        guard.log.setLevel(before)
    assert said
    assert not any("asthma" in each for each in said)


@guards("S11", sets(server, "configuration", lambda app: SimpleNamespace(access_log=True, server_header=True)))
def the_server_keeps_no_log_of_addresses(folder):
    found = server.configuration(None)
    assert not found.access_log
    assert not found.server_header


@guards("S11", lambda patch: patch.setenv("SFUMATO_DEBUG", "1"))
def a_trace_is_kept_for_nobody(folder):
    with visited(folder) as browser, pytest.MonkeyPatch.context() as patch:
        patch.setattr(start, "page", None)  # whatever page is asked for there breaks
        assert "Traceback" not in browser.get("/help").text
    assert not (folder / ".sfumato" / "trace.txt").exists()


# S12: secrets of jobs.

SECRET = "postgresql://me:hunter2@host/db"
TELLS = """import json, os, sys
print(json.dumps([sys.argv, dict(os.environ)]), file=sys.stderr)
sys.stdout.write(sys.stdin.read())
"""


@guards("S12", sets(jobs, "apart", lambda: (dict(os.environ), "")))
def no_address_is_in_the_words_or_the_environment_of_a_job(folder):
    async def story():
        found = jobs.Jobs(project.Project.at(folder), (sys.executable, "-c", TELLS))
        await found.open()
        job = found.ask("run", ["x"], watched=False)
        while found.get(job.id).under_way:
            await asyncio.sleep(0.05)
        await found.close()
        return found.folder / job.id

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SFUMATO_DATABASE_CLINIC", SECRET)
        at = asyncio.run(story())
    assert json.loads((at / "stderr.txt").read_text(encoding="utf-8"))
    assert "hunter2" not in (at / "stderr.txt").read_text(encoding="utf-8") + (at / "job.json").read_text(
        encoding="utf-8"
    )
    assert json.loads((at / "result.json").read_text(encoding="utf-8")) == {"SFUMATO_DATABASE_CLINIC": SECRET}


# S13: nothing goes out.


def chatty(patch):
    real = start.page

    def page(*given, **content):
        with suppress(OSError):
            socket.create_connection(("192.0.2.1", 80), timeout=0.01)
        return real(*given, **content)

    patch.setattr(start, "page", page)


@guards("S13", chatty)
def no_page_asks_another_machine(folder):
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        real = socket.socket.connect
        patch.setattr(
            socket.socket,
            "connect",
            lambda own, address: asked.append(address) if own.family != socket.AF_UNIX else real(own, address),
        )
        with visited(folder) as browser:
            for path in (
                "/",
                "/help",
                "/open",
                "/plans/plan.toml",
                "/plans/plan.toml/columns",
                "/plans/plan.toml/check",
            ):
                browser.get(path)
    assert asked == []


# S14: downloads.


@guards("S14", sets(runs, "_attached", lambda name: {}))
def a_download_is_an_attachment(folder, made):
    with visited(made) as browser:
        answer = browser.get("/runs/first/files/data.csv")
    assert answer.headers.get("content-disposition", "").startswith("attachment")
    assert b"=cmd()" in answer.content  # as it was judged


@guards("S14", sets(runs.verdict, "warnings", lambda facts: []))
def formulas_are_said_and_not_changed(folder, made):
    with visited(made) as browser:
        assert "for formulas" in browser.text("/runs/first")


# S15, S16: time and rights.


@guards("S15", sets(guard, "IDLE_SECONDS", float("inf")))
def a_session_ends_when_nobody_uses_it(folder):
    now = [0.0]
    session = Session(clock=lambda: now[0])
    value = session.enter(session.new_token())
    now[0] = 12 * 3600 + 1.0
    assert not session.knows(value)


@guards("S16", sets(os, "umask", lambda mask: 0))
def what_is_written_is_for_its_owner(folder):
    assert served(folder).written == 0o600


# The list itself.


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def holds(probe, folder, made):
    probe(folder, made) if probe.__code__.co_argcount == 2 else probe(folder)
    return True


PROBES = {name: probe for name, probe, _ in MUTATIONS}


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("name", PROBES)
def test_every_guard_holds(name, folder, made):
    assert holds(PROBES[name], folder, made)


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("number", range(len(MUTATIONS)), ids=lambda number: f"{MUTATIONS[number][0]} {number}")
def test_a_guard_that_is_taken_out_is_missed(number, folder, made):
    _, probe, takes_out = MUTATIONS[number]
    with pytest.MonkeyPatch.context() as patch:
        takes_out(patch)
        with pytest.raises(AssertionError):
            holds(probe, folder, made)


def test_all_sixteen_requirements_are_in_the_list():
    assert {name.split()[0] for name, _, _ in MUTATIONS} == {f"S{number}" for number in range(1, 17)}
