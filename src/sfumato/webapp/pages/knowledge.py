"""Public knowledge: the table that turns terms into secrets, chosen, built from what there is, and checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from anyio import to_thread
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.data.files import Source, read_columns
from sfumato.errors import InputError
from sfumato.plan.keys import KNOWLEDGE
from sfumato.webapp.forms import said
from sfumato.webapp.plans import fields_at, filled_in, found_plan
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import after, page, to_job

FOLDER = "knowledge"
ALIASES = f"{FOLDER}/aliases.csv"
_OPTIONS = ("separator", "min-count", "min-share", "person", "weights", "label-prefix", "terms-prefix", "where")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


async def show(request: Request) -> Response:
    """Show what the plan takes as known, the tables that there are, and how to build one."""
    return await _page(request)


async def choose(request: Request, form: FormData) -> Response:
    """Show the columns of a file, to build a table from some of them."""
    source = request.app.state.project.opened(said(form, "source"))
    columns = await to_thread.run_sync(_columns, source) if source is not None else []
    if source is None or not columns:
        raise HTTPException(422, "Name a file that can be opened here, and read as a table with names of columns.")
    return await _page(request, request.app.state.project.shown(source), columns)


async def _page(request: Request, source: str = "", columns: Sequence[str] = ()) -> Response:
    plan = found_plan(request)
    said = plan.get("knowledge") or {}
    folder = plan.path.parent / FOLDER
    named = request.app.state.project.opened(str(said.get("path", "")))
    known = await to_thread.run_sync(_columns, named) if named is not None else []
    return page(
        request,
        "knowledge.html",
        title="Public knowledge",
        here="promises",
        plan=plan,
        fields=fields_at(plan, KNOWLEDGE.keys, "knowledge", columns=known),
        source=source,
        columns=columns,
        files=request.app.state.project.tables(),
        path=said.get("path", ""),
        tables=sorted(path.name for path in folder.glob("*.csv")) if folder.is_dir() else [],
        wrong=plan.problems.get("knowledge", ()),
        merges=_merges(request, plan.name),
        covered=request.query_params.get("show") != "yes",
        aliases=ALIASES if (plan.path.parent / ALIASES).is_file() else "",
    )


def _columns(path: Path) -> list[str]:
    """Return the columns of a table, as far as it can be read."""
    with suppress(InputError, OSError):
        return read_columns(Source(path)) if path.is_file() else []
    return []


def _found_in(request: Request, name: str) -> Path:
    """Return where the check of a plan's knowledge leaves spellings that are near a known term."""
    return Path(request.app.state.project.hidden / f"merges-{name.removesuffix('.toml')}.csv")


def _merges(request: Request, name: str) -> dict[str, str]:
    from sfumato.knowledge.aliases import Aliases  # with all that knowledge needs, which no first page waits for

    with suppress(InputError, OSError):
        return dict(Aliases.read(_found_in(request, name)).term_of)
    return {}


async def merge(request: Request, form: FormData) -> Response:
    """Keep the spellings that somebody says stand for a term."""
    from sfumato.knowledge.aliases import keep_aliases

    plan = found_plan(request)
    chosen = {str(each) for each in form.getlist("spelling")}
    found = {spelling: term for spelling, term in _merges(request, plan.name).items() if spelling in chosen}
    if not found:
        raise HTTPException(422, "Tick the spellings first that stand for the term beside them.")
    keep_aliases(plan.path.parent / ALIASES, found)
    return after(f"/plans/{plan.name}/knowledge", "saved")


async def change(request: Request, form: FormData) -> Response:
    """Change what the plan takes as known."""
    return filled_in(request, form, KNOWLEDGE.keys, "knowledge", then="/knowledge")


async def build(request: Request, form: FormData) -> Response:
    """Ask for a knowledge table from a list, from events, or from the data themselves."""
    plan = found_plan(request)
    project = request.app.state.project
    source, name = project.opened(said(form, "source")), said(form, "name").lower()
    label, terms = said(form, "label"), said(form, "terms")
    if source is None or not _NAME.fullmatch(name) or not label or not terms:
        raise HTTPException(422, "Name a file of the project, its two columns, and the table to be made (a-z, 0-9, -).")
    words = ["knowledge", "build", project.shown(source), "--label", label, "--terms", terms]
    for option in _OPTIONS:
        words += [f"--{option}", value] if (value := said(form, option)) else []
    words += [f"--{flag}" for flag in ("insider", "ancestors", "names", "overwrite") if form.get(flag) == "yes"]
    for option in ("aliases", "ontology"):
        given = said(form, option)
        path = project.opened(given)
        if given and path is None:
            raise HTTPException(422, "The list of spellings, or the ontology, is not there or may not be opened.")
        words += [f"--{option}", project.shown(path)] if path is not None else []
    (project.folder / FOLDER).mkdir(exist_ok=True)
    words += ["--out", target := f"{FOLDER}/{name}.csv"]
    about = {"plan": plan.name, "target": target, "then": f"/plans/{plan.name}/knowledge", "watched": False}
    return to_job(request, "knowledge", words, **about)


async def check(request: Request, form: FormData) -> Response:
    """Ask what the table and the data know of each other, and what looking terms up gives away now."""
    plan = found_plan(request)
    path = plan.get("knowledge", "path")
    if not isinstance(path, str) or not path:
        raise HTTPException(422, "The plan names no knowledge table yet: choose one first.")
    found = request.app.state.project.shown(_found_in(request, plan.name))
    words = ["knowledge", "check", path, "--plan", plan.name, "--merge", found, "--overwrite"]
    about = {"plan": plan.name, "then": f"/plans/{plan.name}/knowledge", "watched": False}
    return to_job(request, "check", words, **about)


ROUTES = [
    get("/plans/{plan}/knowledge", show),
    post("/plans/{plan}/knowledge", change),
    post("/plans/{plan}/knowledge/columns", choose),
    post("/plans/{plan}/knowledge/build", build),
    post("/plans/{plan}/knowledge/check", check),
    post("/plans/{plan}/knowledge/merge", merge),
]
