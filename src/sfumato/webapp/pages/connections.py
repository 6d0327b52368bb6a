"""Databases: connections by name, and a table of one as data. Addresses are never shown, nor in a command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from anyio import to_thread
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.data.files import Source
from sfumato.data.files.databases.connections import SHAPES, Address, checked_name, keep, known_addresses, place_of
from sfumato.data.files.databases.reading import tried
from sfumato.errors import InputError
from sfumato.webapp.forms import said
from sfumato.webapp.pages.opening import previewed
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import after, page, parts, to_job

_TABLE = re.compile(r"\w[\w.$ -]{0,120}")


def _shown(request: Request, status: int = 200, **more: Any) -> Response:
    known = [{"name": name, "engine": address.engine, "origin": address.origin} for name, address in known_addresses()]
    more = {"found": "", "chosen": "", "tables": [], "problem": ("", ""), **more}
    return page(request, "connections.html", status, title="Databases", here="open", known=known, **more)


async def show(request: Request) -> Response:
    """Show the connections that are known, and never an address."""
    return _shown(request)


async def add(request: Request, form: FormData) -> Response:
    """Keep the address of a database under a name."""
    name, address = said(form, "name"), said(form, "address")
    try:
        checked_name(name)
    except InputError as error:
        return _shown(request, 422, problem=parts(str(error)))
    if Address(address, "").engine is None:
        return _shown(request, 422, problem=("That is no address of a database.", f"Write {SHAPES}"))
    await to_thread.run_sync(keep, name, address)
    return after("/connections", "saved")


async def test(request: Request, form: FormData) -> Response:
    """Connect, and say with which kind of database, and its tables."""
    name = str(form.get("name", ""))
    try:
        engine, tables = await to_thread.run_sync(tried, Source(place_of(name, Path()), database=name))
    except InputError as error:
        return _shown(request, 422, chosen=name, problem=parts(str(error)))
    return _shown(request, chosen=name, found=f"{name} answers: {engine}.", tables=tables)


def _table(form: FormData) -> tuple[str, str]:
    name, table = str(form.get("name", "")), said(form, "table")
    if name not in dict(known_addresses()) or not _TABLE.fullmatch(table):
        raise HTTPException(422, "Choose a connection, and name a table of it.")
    return name, table


async def look(request: Request, form: FormData) -> Response:
    """Show the first rows of a table, and how many it has."""
    name, table = _table(form)
    source = Source(place_of(name, Path()), database=name, table=table)
    return await previewed(request, source, form, table, {"name": name, "table": table}, "/connections/draft")


async def draft(request: Request, form: FormData) -> Response:
    """Ask for the draft of a plan for a table of a database."""
    name, table = _table(form)
    plan = request.app.state.project.new_plan(table)
    words = ["init", f"database:{name}", "--table", table, "--out", plan]
    return to_job(request, "draft", words, plan=plan, then=f"/plans/{plan}/columns", watched=False)


ROUTES = [
    get("/connections", show),
    post("/connections", add),
    post("/connections/test", test),
    post("/connections/look", look),
    post("/connections/draft", draft),
]
