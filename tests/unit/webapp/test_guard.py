"""Who may ask what: each line of the table fails when its guard is taken out."""

from __future__ import annotations

import logging

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from sfumato.webapp import guard
from sfumato.webapp.guard import IDLE_SECONDS, TOKEN_SECONDS, Session
from sfumato.webapp.pages import ROUTES
from websites import HOME, PORT, visited

OURS, ELSEWHERE = f"127.0.0.1:{PORT}", "evil.example"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with visited(tmp_path_factory.mktemp("project")) as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("host", "origin", "site", "has_cookie", "method", "status"),
    [
        (OURS, None, None, True, "GET", 200),
        (f"localhost:{PORT}", None, "none", True, "GET", 200),
        (f"[::1]:{PORT}", None, "same-origin", True, "GET", 200),
        (ELSEWHERE, None, None, True, "GET", 421),
        ("127.0.0.1", None, None, True, "GET", 421),
        (f"127.0.0.1:{PORT + 1}", None, None, True, "GET", 421),
        (f"127.0.0.1.evil.example:{PORT}", None, None, True, "GET", 421),
        ("", None, None, True, "GET", 421),
        (OURS, None, "cross-site", True, "GET", 403),
        (OURS, None, "same-site", True, "GET", 403),
        (OURS, None, None, False, "GET", 401),
        (ELSEWHERE, None, "cross-site", False, "GET", 421),
        (OURS, HOME, "same-origin", True, "POST", 200),
        (OURS, None, "same-origin", True, "POST", 403),
        (OURS, "null", "same-origin", True, "POST", 403),
        (OURS, f"http://{ELSEWHERE}", "same-origin", True, "POST", 403),
        (OURS, f"https://{OURS}", "same-origin", True, "POST", 403),
        (ELSEWHERE, f"http://{ELSEWHERE}", "same-origin", True, "POST", 421),
        (OURS, HOME, "cross-site", True, "POST", 403),
        (OURS, HOME, "same-origin", False, "POST", 401),
        (OURS, None, None, True, "PUT", 403),
        (OURS, None, None, True, "DELETE", 403),
    ],
)
def test_who_is_let_in(browser, host, origin, site, has_cookie, method, status):
    headers = {"host": host, "origin": origin, "sec-fetch-site": site}
    cookies = dict(browser.cookies) if has_cookie else {}
    answer = TestClient(browser.app, base_url=HOME, cookies=cookies).request(
        method,
        "/quit" if method == "POST" else "/help",
        headers={name: value for name, value in headers.items() if value is not None},
        data={"form_token": browser.session.form_token} if method == "POST" else None,
    )

    assert answer.status_code == status


POSTS = sorted({route.path for route in ROUTES if "POST" in route.methods})


@pytest.mark.slow
@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("token", ["", "wrong"])
def test_no_form_goes_without_its_token(browser, path, token):
    for name in ("job", "plan", "run", "sweep", "column", "word"):
        path = path.replace(f"{{{name}}}", "1")

    assert browser.fill(path, form_token=token).status_code == 403


def test_a_token_is_good_once(tmp_path):
    session = Session()
    token = session.new_token()

    assert session.enter("other") is None
    assert session.enter(token) is not None
    assert session.enter(token) is None


def test_a_token_gets_too_old():
    now = [0.0]
    session = Session(clock=lambda: now[0])
    token = session.new_token()
    now[0] = TOKEN_SECONDS + 1

    assert session.enter(token) is None


def test_a_session_ends_when_nobody_uses_it():
    now, again = [0.0], []
    session = Session(clock=lambda: now[0])
    session.ended = lambda: again.append(session.new_token())
    value = session.enter(session.new_token())
    now[0] = IDLE_SECONDS - 1
    assert session.knows(value)
    now[0] += IDLE_SECONDS - 1  # it was used in between
    assert session.knows(value)
    now[0] += IDLE_SECONDS + 1

    assert not session.knows("")
    assert again == []  # whoever else asks is told nothing
    assert not session.knows(value)
    (token,) = again  # a new address is shown, so that nobody has to end the server and its jobs
    assert session.knows(session.enter(token))
    assert not session.knows(value)


def test_the_door_answers_to_a_page_from_elsewhere_and_does_not_redirect(browser):
    """A browser that is opened with a file counts as another site, and so would every redirect after it."""
    token = browser.session.new_token()

    answer = browser.get(f"/enter?token={token}", headers={"sec-fetch-site": "cross-site"}, follow_redirects=False)

    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/", browser.session.cookie))
    assert token not in answer.text
    assert browser.get(f"/enter?token={token}").status_code == 401


@pytest.mark.parametrize("path", ["/", "/help", "/static/app.css", "/nowhere", "/enter?token=x"])
def test_every_answer_carries_the_headers(browser, path):
    headers = browser.get(path).headers

    assert "default-src 'none'; script-src 'self'; style-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "require-trusted-types-for 'script'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


def test_refusals_carry_the_headers_too(browser):
    assert browser.get("/", headers={"host": ELSEWHERE}).headers["x-content-type-options"] == "nosniff"


def test_a_form_that_is_too_long_is_refused(browser):
    assert browser.fill("/quit", words="x" * (guard.BODY_BYTES + 1)).status_code == 413


def test_a_form_with_too_many_fields_is_refused(browser):
    many = {f"f{number}": "1" for number in range(guard.MOST_FIELDS + 1)}

    assert browser.fill("/quit", **many).status_code == 400


def test_a_form_that_does_not_come_is_not_waited_for(browser, monkeypatch):
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.0)

    assert browser.fill("/quit").status_code == 408


def test_only_so_many_pages_follow_jobs(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "MOST_STREAMS", 0)
    with visited(tmp_path) as found:
        assert found.get("/jobs/none/events").status_code == 503


def test_logs_say_the_route_and_nothing_that_was_filled_in(browser, caplog):
    with caplog.at_level(logging.INFO, logger="sfumato.web"):
        browser.get("/jobs/secret-word?cell=asthma")
        browser.get("/asthma")
        browser.get("/help/quasi-identifier")

    assert [record.getMessage().rsplit(" ", 2)[0] for record in caplog.records] == [
        "GET /jobs/{job} 404",
        "GET (no page) 404",
        "GET /help/{word} 200",
    ]


def test_an_error_shows_no_trace(tmp_path, capfd):
    with visited(tmp_path) as found:
        found.state.project = None  # whatever page is asked for breaks, the page about it too
        answer = found.get("/")

    assert answer.status_code == 500
    assert "Traceback" not in answer.text + "".join(capfd.readouterr())


def test_a_socket_is_refused():
    app = Starlette(routes=[Route("/", lambda request: PlainTextResponse("in"))])
    behind = guard.Guard(app, session=Session(), port=lambda: PORT)

    with pytest.raises(WebSocketDisconnect) as caught:  # noqa: SIM117
        with TestClient(behind).websocket_connect("/"):
            pass
    assert caught.value.code == 1008
