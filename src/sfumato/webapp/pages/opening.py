"""Opening data: a file on this computer or one that is dropped here, how it is read, and the draft of a plan."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from anyio import to_thread
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sfumato.data.files import Source
from sfumato.data.files.text import unpacks_within
from sfumato.disk import stem_of
from sfumato.errors import InputError
from sfumato.generators import add_demo
from sfumato.plan.keys import SOURCE
from sfumato.webapp.forms import field_of, filled, said, whole_number
from sfumato.webapp.guard import UPLOADS, check_token, form_of
from sfumato.webapp.project import Project
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import after, page, parts, to_job
from sfumato.workbench.looking import LOOKED_AT, looked_at, not_read

FORM_UPLOAD = 64 << 20
KEPT_FREE = 0.1  # share of the disk that an upload leaves
_EXAMPLE = "example.toml"
_SUFFIXES = re.compile(r"(\.[a-z0-9]{1,8}){1,2}$", re.IGNORECASE)
# What `sfumato init` takes, in its order.
_OPTIONS = ("separator", "encoding", "header", "header_row", "decimal", "dates", "sheet", "format")
_KEYS = tuple(key for key in SOURCE.keys if key.name in _OPTIONS)


async def show(request: Request) -> Response:
    """Show the doors."""
    return _doors(request, 0, "")


async def look(request: Request, form: FormData) -> Response:
    """Show a folder inside a root: paths stand in forms, never in addresses."""
    root = whole_number(str(form.get("root", "")), digits=2)
    return _doors(request, root or 0, str(form.get("at", "")))


def _doors(request: Request, root: int, at: str, problem: str = "") -> Response:
    project: Project = request.app.state.project
    roots = project.roots
    base = roots[root] if root < len(roots) else roots[0]
    folder = project.opened(str(base / at)) or base
    called = {project.folder: project.folder.name, project.hidden / "uploads": "copied in"}
    return page(
        request,
        "open.html",
        title="Open data",
        here="open",
        roots=[called.get(each) or project.shown(each) for each in roots],
        root=root,
        at="" if folder == base or not folder.is_relative_to(base) else folder.relative_to(base).as_posix(),
        entries=_entries(project, folder, base),
        upload=secrets.token_hex(8),
        problem=problem,
    )


def _entries(project: Project, folder: Path, base: Path) -> list[dict[str, Any]]:
    """Return what may be chosen in a folder: folders first, files of a size."""
    found = []
    with suppress(OSError):
        for path in sorted(folder.iterdir(), key=lambda path: (not path.is_dir(), path.name.lower()))[:500]:
            if path.name.startswith(".") or project.opened(str(path)) is None:
                continue
            size = None if path.is_dir() else path.stat().st_size
            at = path.relative_to(base).as_posix()
            found.append({"name": path.name, "at": at, "path": project.shown(path), "size": size})
    return found


# Copying in.


def _free(project: Project, most: int) -> int:
    """Return how many bytes may be written: as the owner allows, and so that some room is left on the disk."""
    disk = shutil.disk_usage(project.hidden)
    return min(most, int(disk.free - KEPT_FREE * disk.total))


def _target(project: Project, name: str) -> Path:
    """Return where a file that is copied in goes: its name is ours, its ending says what it is."""
    ending = _SUFFIXES.search(name)
    stem = stem_of(name[: ending.start() if ending else None], "data")
    return project.hidden / "uploads" / f"{stem}-{secrets.token_hex(3)}{ending[0].lower() if ending else ''}"


def _too_large() -> HTTPException:
    return HTTPException(413, "The file is larger than there is room for. Open it where it is, by its path.")


async def _copied(request: Request, name: str, blocks: AsyncIterator[bytes]) -> Path:
    """Copy a file in as it comes, block by block; one that does not come whole leaves nothing."""
    project: Project = request.app.state.project
    left = _free(project, request.app.state.max_upload)
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > left:
        raise _too_large()
    target = _target(project, name)
    try:
        with target.open("xb") as file:
            target.chmod(0o600)
            async for block in blocks:
                left -= len(block)
                if left < 0:
                    raise _too_large()
                await to_thread.run_sync(file.write, block)
        if not await to_thread.run_sync(unpacks_within, target, request.app.state.max_upload):
            raise _too_large()
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target


async def upload(request: Request) -> Response:
    """Copy a file in that a script sends as it is."""
    check_token(request)
    target = await _copied(request, unquote(request.headers.get("x-name", "")), request.stream())
    return JSONResponse({"path": request.app.state.project.shown(target)})


async def upload_form(request: Request) -> Response:
    """Copy a file in from a form, for browsers without scripts."""
    length = request.headers.get("content-length", "")
    if not length.isdigit() or int(length) > FORM_UPLOAD:
        raise HTTPException(413, "A form takes files up to 64 MB. Open larger ones by their path.")
    form = await form_of(request, FORM_UPLOAD)
    given = form.get("file")
    if not isinstance(given, UploadFile) or not given.filename:
        raise HTTPException(422, "Choose a file first.")
    target = await _copied(request, given.filename, _blocks(given))
    await form.close()
    return await _reading(request, target, FormData())


async def _blocks(file: UploadFile) -> AsyncIterator[bytes]:
    while block := await file.read(1 << 20):
        yield block


# How it is read.


def _source(path: Path, form: FormData) -> Source:
    values = {key.name: filled(key, form, ()) for key in _KEYS}
    return Source(path=path, **{name: value for name, value in values.items() if value not in (None, "")})


async def reading(request: Request, form: FormData) -> Response:
    """Show how a file is read, and its first rows."""
    project: Project = request.app.state.project
    path = project.opened(said(form, "path"))
    if path is None:
        problem = "There is no file at this path that may be opened: start `sfumato web` with --roots to allow others."
        return _doors(request, 0, "", problem)
    if path.suffix == ".toml":
        if path.parent == project.folder and project.plan(path.name):
            return after(f"/plans/{path.name}")
        raise HTTPException(422, "That is a plan of another project: open it there, with sfumato web FOLDER.")
    return await _reading(request, path, form)


async def _reading(request: Request, path: Path, form: FormData) -> Response:
    given = {"path": request.app.state.project.shown(path)}
    return await previewed(request, _source(path, form), form, path.name, given, "/plans")


async def previewed(
    request: Request, source: Source, form: FormData, name: str, given: Mapping[str, str], draft_at: str
) -> Response:
    """Show how a source is read, and its first rows; what a form says to name it is `given` on."""
    covered, problem = form.get("show") != "yes", ("", "")
    try:
        found = await to_thread.run_sync(looked_at, source)
    except InputError as error:
        problem = parts(str(error).replace(str(source.path), name))
        found = await to_thread.run_sync(not_read, source)
    return page(
        request,
        "reading.html",
        422 if problem[0] else 200,
        title="How it is read",
        here="open",
        name=name,
        given=given,
        draft_at=draft_at,
        found=found,
        fields=[field_of(key, getattr(source, key.name), ()) for key in _KEYS] if source.database is None else [],
        covered=found.secrets if covered else set(),
        lines=found.lines(covered=covered),
        problem=problem,
        looked_at=LOOKED_AT,
    )


async def draft(request: Request, form: FormData) -> Response:
    """Ask for the draft of a plan."""
    project: Project = request.app.state.project
    path = project.opened(said(form, "path"))
    if path is None:
        raise HTTPException(422, "The file is not there any more, or may not be opened.")
    source = _source(path, form)
    name = project.new_plan(path.name.split(".")[0])
    words = ["init", project.shown(path), "--out", name]
    for option in _OPTIONS:
        value = getattr(source, option)
        if option == "header" and value is not None:
            words.append("--header" if value else "--no-header")
        elif value is not None:
            words += [f"--{option.replace('_', '-')}", str(value)]
    return to_job(request, "draft", words, plan=name, then=f"/plans/{name}/columns", watched=False)


async def example(request: Request, form: FormData) -> Response:
    """Make up patients and a plan for them."""
    project: Project = request.app.state.project
    if project.plan(_EXAMPLE) is None:
        await to_thread.run_sync(add_demo, project.folder, 5_000, _EXAMPLE)
    return after(f"/plans/{_EXAMPLE}")


ROUTES = [
    get("/open", show),
    post("/open", look),
    Route(UPLOADS + "/{upload}", upload, methods=["PUT"]),
    Route(UPLOADS, upload_form, methods=["POST"]),
    post("/open/reading", reading),
    post("/plans", draft),
    post("/example", example),
]
