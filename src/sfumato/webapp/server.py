"""The server: its routes, what becomes of errors, and how it starts and ends."""

from __future__ import annotations

import logging
import os
import socket
import tempfile
import traceback
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.disk import confined, unwritable
from sfumato.errors import OutputError, SfumatoError
from sfumato.webapp.guard import ENTER, Guard, Session, log
from sfumato.webapp.jobs import Jobs
from sfumato.webapp.pages import ROUTES
from sfumato.webapp.project import Lock, Project, write_private
from sfumato.webapp.showing import parts, refused
from sfumato.webapp.trials import Trials
from sfumato.workbench import Asking

MAX_UPLOAD = 20 << 30
_LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def make_app(
    project: Project,
    session: Session,
    port: Callable[[], int],
    *,
    quit_: Callable[[], None] = lambda: None,
    max_upload: int = MAX_UPLOAD,
    bench: Callable[[Path], Any] = Asking,
    prepares: bool = False,
) -> ASGIApp:
    """Return the app behind its guard; `bench` answers questions about the data of a plan.

    Where it `prepares`, whatever a kind of plan needs is compiled as soon as somebody asks for it.
    """
    jobs = Jobs(project)
    jobs.prepares = prepares

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        await jobs.open()
        yield
        await jobs.close()
        app.state.trials.close()
        for each in app.state.benches.values():
            each.close()

    handlers: dict[Any, Any] = {
        HTTPException: _not_there,
        SfumatoError: _not_done,
        OSError: _not_written,
        Exception: _broke,
    }
    app = Starlette(
        routes=ROUTES,
        middleware=[Middleware(_Confined, roots=project.roots)],
        exception_handlers=handlers,
        lifespan=life,
    )
    app.state.project, app.state.session, app.state.jobs = project, session, jobs
    app.state.quit, app.state.max_upload = quit_, max_upload
    app.state.bench, app.state.benches = bench, {}  # who answers questions about data, by plan
    app.state.trials = Trials(bench)
    return Guard(app, session=session, port=port)


class _Confined:
    """Lets pages and jobs open the files that plans name in some folders alone."""

    def __init__(self, app: ASGIApp, roots: Sequence[Path]) -> None:
        self.app, self.roots = app, roots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with confined(self.roots):
            await self.app(scope, receive, send)


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = error.detail if error.detail != HTTPStatus(404).phrase else "There is no such page."
    return refused(request, error.status_code, words, do="Go back, or to the start of the project.")


async def _not_done(request: Request, error: Exception) -> Response:
    if not isinstance(error, SfumatoError) or error.exit_code == 3:
        return await _broke(request, error)
    found, do = parts(str(error))
    return refused(request, 422, "That could not be done.", found, do)


async def _not_written(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)
    found, do = parts(str(unwritable(Path("A file of the project"), error)))
    return refused(request, 507, "That could not be kept.", found, do)


async def _broke(request: Request, error: Exception) -> Response:
    """Say that something unexpected happened; where, only in a file, and only to who asks for it."""
    if os.environ.get("SFUMATO_DEBUG"):
        with suppress(OSError):
            trace = "".join(traceback.format_exception(error))
            write_private(request.app.state.project.hidden / "trace.txt", trace)
    return refused(
        request,
        500,
        "Something unexpected happened.",
        f"This is a bug in sfumato ({type(error).__name__}). What was saved before is still there.",
        "Start the app with SFUMATO_DEBUG=1 to keep where it was in .sfumato/trace.txt, which may show values.",
    )


# Starting and ending.


def serve(
    folder: Path,
    *,
    port: int = 0,
    browser: bool = True,
    roots: Sequence[Path] = (),
    max_upload: int = MAX_UPLOAD,
    say: Callable[[str], None],
) -> None:
    """Serve a project on this machine until somebody ends it."""
    if hasattr(os, "umask"):
        os.umask(0o077)
    project = Project.at(folder, roots)
    tempfile.tempdir = str(project.hidden / "uploads")  # a form with a file is kept there, not where others look
    lock = Lock(project.hidden / "lock")
    if (other := lock.holder()) is not None:
        raise OutputError(
            f"The project {project.folder} is open already, on port {other['port']} of this machine.\n"
            "Go on in that window, or end that server first (Ctrl-C in its terminal)."
        )
    sockets = _sockets(port)
    port = sockets[0].getsockname()[1]
    session = Session()
    server: uvicorn.Server

    def end() -> None:
        server.should_exit = True

    def address() -> str:
        return f"http://127.0.0.1:{port}{ENTER}?token={session.new_token()}"

    app = make_app(project, session, lambda: port, quit_=end, max_upload=max_upload, prepares=True)
    server = uvicorn.Server(configuration(app))
    lock.take(port)
    _keep_log(project)
    door = project.hidden / "enter.html"
    try:
        session.ended = lambda: say(f"Nobody came for twelve hours. Go on at {address()}")
        say(f"sfumato is at {(first := address())}\nThe address is good once, within ten minutes. Ctrl-C here ends it.")
        if browser:
            # The address must not stand on a command line, where other users of the machine would see it.
            write_private(door, f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={first}">')
            webbrowser.open(door.as_uri())
        server.run(sockets=sockets)
    finally:
        door.unlink(missing_ok=True)
        lock.leave()


def _keep_log(project: Project) -> None:
    """Keep what the guard says of requests, which names no file, column or cell."""
    handler = RotatingFileHandler(project.hidden / "log.txt", maxBytes=1 << 20, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


def configuration(app: ASGIApp) -> uvicorn.Config:
    """Return how the server is run: one worker, no log of addresses, nothing said of itself."""
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )


def _sockets(port: int) -> list[socket.socket]:
    """Return where the server listens: on this machine alone, on one port of both kinds of addresses."""
    made: list[socket.socket] = []
    for family, host in _LOOPBACK:
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            if os.name != "nt":
                found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((host, port))
            found.listen(128)  # who is told the address may come before the server is ready, and waits then
        except OSError as error:
            found.close()
            if not made:
                raise OutputError(
                    f"Port {port} was to be used, but cannot be: {error.strerror}.\n"
                    "Name another with --port, or none: then a free one is taken."
                ) from None
            continue  # a machine without the other kind
        port = found.getsockname()[1]
        made.append(found)
    return made
