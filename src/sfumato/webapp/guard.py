"""Who may ask what: the checks that stand before every page, and the headers that go with every answer.

Threats are other pages in the same browser, other users of the machine, hostile files, and our own logs. Checks come in
this order: host, origin of the request, session, size. `docs/howto/web-security.md` says what is not covered.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import FormData, Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTER = "/enter"
UPLOADS = "/uploads"
FORM_TOKEN = "form_token"
TOKEN_HEADER = "x-form-token"
TOKEN_SECONDS = 600
IDLE_SECONDS = 12 * 3600
BODY_BYTES = 2 << 20
BODY_SECONDS = 30.0
MOST_FIELDS = 5_000
MOST_STREAMS = 8
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; frame-ancestors {ancestors}; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types sfumato"
)
POLICY = _POLICY.format(ancestors="'none'")
# The report brings its own style and no script; it may stand in a frame of ours and nowhere else.
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with none at all, browsers do not say where a form comes from
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
log = logging.getLogger("sfumato.web")


@dataclass
class Session:
    """The one who may use the server: a token that is good once, then a cookie, and a token for forms."""

    clock: Callable[[], float] = time.monotonic
    cookie: str = field(default_factory=lambda: f"sfumato-{secrets.token_hex(8)}")  # cookies ignore ports
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    ended: Callable[[], None] = lambda: None  # told when it ended for lack of use, so that somebody may come again
    _token: str | None = field(default=None, repr=False)
    _value: str | None = field(default=None, repr=False)
    _made: float = 0.0
    _seen: float = 0.0

    def new_token(self) -> str:
        """Return a token that opens the door once, within some minutes; older ones do not any more."""
        self._token, self._made = secrets.token_urlsafe(32), self.clock()
        return self._token

    def enter(self, token: str) -> str | None:
        """Return the value of the cookie for who brings the token, and nobody else."""
        good = self._token is not None and hmac.compare_digest(self._token.encode(), token.encode())
        if not good or self.clock() - self._made > TOKEN_SECONDS:
            return None
        self._token = None
        if not self._alive():
            self._value = secrets.token_urlsafe(32)
        self._seen = self.clock()
        return self._value

    def knows(self, value: str) -> bool:
        """Whether a cookie is ours and was used lately; who asks keeps it alive."""
        if self._value is None or not hmac.compare_digest(self._value.encode(), value.encode()):
            return False
        if not self._alive():
            self._value = None
            self.ended()
            return False
        self._seen = self.clock()
        return True

    def _alive(self) -> bool:
        return self._value is not None and self.clock() - self._seen <= IDLE_SECONDS


class _Refused(Exception):  # noqa: N818 - an answer, not a fault
    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words


class Guard:
    """Stands before the pages: lets in who may, limits what they send, and adds the headers."""

    def __init__(self, app: ASGIApp, *, session: Session, port: Callable[[], int]) -> None:
        self.app, self.session, self.port = app, session, port
        self._streams = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        started, status = time.perf_counter(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                del headers["server"]
            await send(message)

        try:
            asked = _Asked(scope["path"], scope["method"], Headers(scope=scope), self.port(), self.session)
            for check in CHECKS:
                check(asked)
            is_stream = scope["path"].endswith("/events")
            self._streams += is_stream
            try:
                if self._streams > MOST_STREAMS:
                    raise _Refused(503, "Too many pages follow jobs at once. Close some of them.")
                await self.app(scope, _limited(scope, receive), answer)
            finally:
                self._streams -= is_stream
        except _Refused as refused:
            await _say(answer, refused)
        except Exception:  # its page was sent: nothing of it goes to a terminal, which keeps what it shows
            if status == 0:
                await _say(answer, _Refused(500, "Something unexpected happened."))
        finally:
            took = (time.perf_counter() - started) * 1000
            log.info("%s %s %s %.0f ms", scope["method"], pattern(scope), status, took)


@dataclass(frozen=True)
class _Asked:
    """What the checks look at."""

    path: str
    method: str
    headers: Headers
    port: int
    session: Session


def _host(asked: _Asked) -> None:
    given = asked.headers.getlist("host")
    if len(given) != 1 or given[0] not in {f"{name}:{asked.port}" for name in ("127.0.0.1", "localhost", "[::1]")}:
        raise _Refused(421, "This server answers for its own address only.")


def _site(asked: _Asked) -> None:
    if asked.path != ENTER and asked.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise _Refused(403, "Another site asked for this page. Open it from the app itself.")


def _origin(asked: _Asked) -> None:
    if asked.method not in ("GET", "HEAD") and asked.headers.get("origin") != f"http://{asked.headers.get('host')}":
        raise _Refused(403, "This did not come from a page of the app.")


def _session(asked: _Asked) -> None:
    if asked.path != ENTER and not asked.session.knows(_cookie(asked.headers, asked.session.cookie)):
        raise _Refused(
            401, "Open the address that stands last in the terminal where `sfumato web` runs: each is good once."
        )


CHECKS = (_host, _site, _origin, _session)  # in this order


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _limited(scope: Scope, receive: Receive) -> Receive:
    """Return a way to get the body that ends when it is too long, or takes too long."""
    if scope["path"].startswith(UPLOADS):
        return receive  # counted where they are written
    left, until = BODY_BYTES, time.monotonic() + BODY_SECONDS
    over = False

    async def limited() -> Message:
        nonlocal left, over
        if over:  # the body is here: what may still come is that somebody leaves
            return await receive()
        try:
            message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise HTTPException(408, "The form took too long to arrive. Send it again.") from None
        if message["type"] == "http.request":
            left -= len(message.get("body", b""))
            over = not message.get("more_body", False)
            if left < 0:
                raise HTTPException(413, "The form is too long. Files go through the page that opens data.")
        return message

    return limited


async def form_of(request: Request, most_bytes: int = BODY_BYTES) -> FormData:
    """Return the form of a request, once it is sure that a page of this session sent it."""
    form = await request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=most_bytes)
    check_token(request, str(form.get(FORM_TOKEN, "")))
    return form


def check_token(request: Request, given: str = "") -> None:
    """Refuse what does not carry the token of this session's forms."""
    given = given or request.headers.get(TOKEN_HEADER, "")
    session: Session = request.app.state.session
    if not hmac.compare_digest(given.encode(), session.form_token.encode()):
        raise HTTPException(403, "This form is not of this session. Load its page again.")


def pattern(scope: Scope) -> str:
    """Return the route of a request without anything that somebody filled in: what logs may say."""
    if "endpoint" not in scope:
        return "(no page)"
    path = str(scope.get("path", ""))
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1)
    return path


async def _say(send: Callable[[Any], Any], refused: _Refused) -> None:
    body = f"{refused.words}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
