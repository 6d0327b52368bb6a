"""What a run left: its verdict with who is still exposed, rows before and after, what to hand over, and other runs."""

from __future__ import annotations

import datetime
import json
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anyio import to_thread
from starlette.background import BackgroundTask
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from sfumato.disk import openable
from sfumato.report import losses, rows, verdict
from sfumato.report.certificate import certificate as certificate_page
from sfumato.report.comparing import changed_since, compared
from sfumato.report.reading import mapping, text
from sfumato.webapp.guard import REPORT_POLICY
from sfumato.webapp.plans import plan_named
from sfumato.webapp.project import write_private
from sfumato.webapp.routes import get, post
from sfumato.webapp.runs import HANDOVER, facts_of, files_of
from sfumato.webapp.showing import after, page

MOST_COMPARED = 4
_OWN_CONTENT = {"content-security-policy": REPORT_POLICY}
_TYPES = {".csv": "text/csv", ".json": "application/json", ".zip": "application/zip"}


def found_run(request: Request) -> tuple[str, Path, Mapping[str, Any]]:
    """Return the run that an address names: its name, its folder, its facts."""
    name = request.path_params["run"]
    path = request.app.state.project.runs().get(name)
    if path is None:
        raise HTTPException(404, "There is no such run in the project: it may have been moved or deleted.")
    return name, path, facts_of(path)


async def show(request: Request) -> Response:
    """Show a run."""
    name, path, facts = found_run(request)
    project = request.app.state.project
    return page(
        request,
        "run.html",
        title="Result",
        here="results",
        name=name,
        verdict=verdict.content(facts),
        warnings=verdict.warnings(facts),
        rows=rows.content(facts),
        losses=losses.content(facts),
        files=files_of(path, facts),
        plan=plan_named(request, text(mapping(facts.get("plan")).get("path"))),
        others=[other for other in project.runs() if other != name][:20],
        job=request.app.state.jobs.of_target(project.shown(path)),
        handover=_handover(path),
        changed=changed_since(facts, project.folder),
        released=project.shown(path / "release"),
    )


def _handover(run: Path) -> Mapping[str, Any] | None:
    try:
        return mapping(json.loads((run / HANDOVER).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


async def confirm(request: Request, form: FormData) -> Response:
    """Note who has looked at the roles and read the limits, and who gets the release."""
    name, path, _ = found_run(request)
    given = {key: str(form.get(key, "")).strip()[:200] for key in ("who", "receiver")}
    if not given["who"] or not form.get("roles") or not form.get("limits"):
        raise HTTPException(422, "Name yourself, and tick both boxes once you have looked: then the release can go.")
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    write_private(path / HANDOVER, json.dumps({**given, "roles": True, "limits": True, "date": now}, indent=1))
    return after(f"/runs/{name}", "confirmed")


async def report(request: Request) -> Response:
    """Return the holder's report, as it was written, for a frame without any right."""
    _, path, _ = found_run(request)
    file = path / "private" / "report.html"
    if not file.is_file():
        raise HTTPException(404)
    return HTMLResponse(openable(file, "The report").read_bytes(), headers=_OWN_CONTENT)


async def certificate(request: Request) -> Response:
    """Show what may go with the release."""
    _, _, facts = found_run(request)
    return HTMLResponse(certificate_page(facts), headers=_OWN_CONTENT)


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


async def download(request: Request) -> Response:
    """Hand over a file of a fixed list."""
    name, path, facts = found_run(request)
    wanted = request.path_params["name"]
    attached = _attached(f"{name}-{wanted}")
    if wanted == "plan.toml":
        return Response(text(mapping(facts.get("plan")).get("text")), headers=attached, media_type="application/toml")
    if wanted == "certificate.html":
        return HTMLResponse(certificate_page(facts), headers=_OWN_CONTENT | attached)
    if wanted == "report.html" and (path / "private" / "report.html").is_file():
        file = openable(path / "private" / "report.html", "The report")
        return FileResponse(file, headers=_OWN_CONTENT | attached)
    files = files_of(path, facts)
    if wanted == "release.zip":
        hidden = request.app.state.project.hidden
        packed = await to_thread.run_sync(_packed, path, files, certificate_page(facts), hidden)
        gone = BackgroundTask(packed.unlink)
        return FileResponse(packed, headers=attached, media_type=_TYPES[".zip"], background=gone)
    if wanted not in files:
        raise HTTPException(404)
    kind = _TYPES.get(Path(wanted).suffix, "application/octet-stream")
    file = openable(path / "release" / wanted, "The release")
    return FileResponse(file, headers=attached, media_type=kind)


def _packed(run: Path, files: list[str], page_: str, folder: Path) -> Path:
    with tempfile.NamedTemporaryFile(dir=folder, prefix="zip-", delete=False) as made:
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in files:
                archive.write(openable(run / "release" / name, "The release"), f"release/{name}")
            archive.writestr("certificate.html", page_)
        return Path(made.name)


async def compare(request: Request) -> Response:
    """Show some runs side by side."""
    known = request.app.state.project.runs()
    asked = [name for name in dict.fromkeys(request.query_params.getlist("r")) if name in known]
    if not 2 <= len(asked) <= MOST_COMPARED:
        raise HTTPException(422, f"Choose two to {MOST_COMPARED} runs to compare.")
    oldest_first = [name for name in reversed(known) if name in asked]
    found = compared({name: facts_of(known[name]) for name in oldest_first})
    return page(request, "compare.html", title="Compare runs", here="results", **found)


async def delete(request: Request, form: FormData) -> Response:
    """Delete a run, once somebody is sure."""
    name, path, _ = found_run(request)
    if form.get("sure") != "yes":
        return page(request, "delete.html", title="Delete a run", name=name)
    await to_thread.run_sync(shutil.rmtree, path)
    return after("/", "deleted")


ROUTES = [
    get("/compare", compare),
    get("/runs/{run}", show),
    get("/runs/{run}/report", report),
    get("/runs/{run}/certificate", certificate),
    get("/runs/{run}/files/{name}", download),
    post("/runs/{run}/confirm", confirm),
    post("/runs/{run}/delete", delete),
]
