"""Databases: connections by name, and a table of one as data. Addresses are never shown, nor in a command."""

from __future__ import annotations

import re
from pathlib import Path

from anyio import to_thread
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.data.files import Source
from sfumato.data.files.databases.connections import Address, checked_name, keep, known_addresses, place_of
from sfumato.data.files.databases.reading import tried
from sfumato.errors import InputError
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import after, page, parts

_TABLE = re.compile(r"\w[\w.$ -]{0,120}")


def _shown(request: Request, status: int = 200, found: str = "", problem: tuple[str, str] = ("", "")) -> Response:
    known = [{"name": name, "engine": address.engine, "origin": address.origin} for name, address in known_addresses()]
    return page(
        request, "connections.html", status, title="Databases", here="open", known=known, found=found, problem=problem
    )


async def show(request: Request) -> Response:
    """Show the connections that are known, and never an address."""
    return _shown(request)


async def add(request: Request, form: FormData) -> Response:
    """Keep the address of a database under a name."""
    name, address = str(form.get("name", "")).strip(), str(form.get("address", "")).strip()
    try:
        checked_name(name)
    except InputError as error:
        return _shown(request, 422, problem=parts(str(error)))
    if Address(address, "").engine is None:
        do = "Write postgresql://user:password@host/database, sqlite:///path, or odbc:Driver={...};Server=...;"
        return _shown(request, 422, problem=("That is no address of a database.", do))
    await to_thread.run_sync(keep, name, address)
    return after("/connections", "saved")


async def test(request: Request, form: FormData) -> Response:
    """Connect, and say with which kind of database."""
    name = str(form.get("name", ""))
    try:
        engine = await to_thread.run_sync(tried, Source(place_of(name, Path()), database=name))
    except InputError as error:
        return _shown(request, 422, problem=parts(str(error)))
    return _shown(request, found=f"{name} answers: {engine}.")


async def draft(request: Request, form: FormData) -> Response:
    """Ask for the draft of a plan for a table of a database."""
    name, table = str(form.get("name", "")), str(form.get("table", "")).strip()
    if name not in dict(known_addresses()) or not _TABLE.fullmatch(table):
        raise HTTPException(422, "Choose a connection, and name a table of it.")
    plan = request.app.state.project.new_plan(table)
    words = ["init", f"database:{name}", "--table", table, "--out", plan]
    job = request.app.state.jobs.ask("draft", words, plan=plan, then=f"/plans/{plan}/columns", watched=False)
    return after(f"/jobs/{job.id}")


ROUTES = [
    get("/connections", show),
    post("/connections", add),
    post("/connections/test", test),
    post("/connections/draft", draft),
]
