"""Runs and trade-offs: asked for with one button each, as the command that would be typed."""

from __future__ import annotations

import datetime
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sfumato.disk import openable
from sfumato.editing import PlanDocument
from sfumato.editing.settings import places, settings
from sfumato.report.reading import mapping, mappings, text
from sfumato.webapp.forms import said, whole_number
from sfumato.webapp.guard import REPORT_POLICY
from sfumato.webapp.plans import edited, found_plan, plan_named
from sfumato.webapp.project import SWEEP_FILE, Project
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import after, page, to_job

_VALUES = re.compile(r"[0-9a-z.,/ -]{1,200}", re.IGNORECASE)


def _new_folder(project: Project, kind: str) -> str:
    """Return a name for a run or a sweep that says when it was made and is not taken yet, once there is a place."""
    folder = project.folder / f"{kind}s"
    folder.mkdir(exist_ok=True)
    stem = datetime.datetime.now().strftime("%Y-%m-%d-%H%M")
    names = (f"{stem}-{kind}" if n == 1 else f"{stem}-{kind}-{n}" for n in range(1, 1000))
    return next(name for name in names if not (folder / name).exists())


async def show(request: Request) -> Response:
    """Show what a run will do, and the button."""
    plan = found_plan(request)
    return page(
        request,
        "run_page.html",
        title="Run",
        here="run",
        plan=plan,
        wrong=plan.wrong,
        settings=settings(plan.document) if plan.document is not None else [],
        jobs=[job for job in request.app.state.jobs.all() if job.plan == plan.name][:5],
    )


async def run(request: Request, form: FormData) -> Response:
    """Ask for a run."""
    plan = found_plan(request)
    if plan.wrong:
        return after(f"/plans/{plan.name}/run")
    project, jobs = request.app.state.project, request.app.state.jobs
    name = _new_folder(project, "run")
    seed = said(form, "seed")
    if seed and whole_number(seed, digits=15) is None:
        raise HTTPException(422, "A seed is a whole number. Leave it out unless you test.")
    words = ["anonymize", plan.name, "--out", f"runs/{name}", *(("--seed", seed) if seed else ())]
    for other in jobs.running():
        if other.kind == "warm":  # the run prepares what it needs by itself
            await jobs.cancel(other)
    about = {"plan": plan.name, "digest": plan.digest, "target": f"runs/{name}", "then": f"/runs/{name}"}
    return to_job(request, "run", words, **about)


async def sweep(request: Request, form: FormData) -> Response:
    """Ask for a sweep over the settings that have values."""
    plan = found_plan(request)
    vary = []
    for number, setting in enumerate(settings(plan.document) if plan.document is not None else ()):
        values = str(form.get(f"values.{number}", "")).replace(" ", "")
        if values and not _VALUES.fullmatch(values):
            raise HTTPException(422, "Values are written such as 2,5,10 or 0.2..0.5.")
        vary += ["--vary", f"{setting['name']}={values}"] if values else []
    if not vary:
        raise HTTPException(422, "Give values to at least one setting, such as 2,5,10 or 0.2..0.5.")
    name = _new_folder(request.app.state.project, "sweep")
    words = ["sweep", plan.name, *vary, "--out", f"sweeps/{name}", "--jobs", "1"]
    about = {"plan": plan.name, "digest": plan.digest, "target": f"sweeps/{name}", "then": f"/sweeps/{name}"}
    return to_job(request, "sweep", words, **about)


# What a sweep found.


def _found_sweep(request: Request) -> tuple[str, Path, Any]:
    name = request.path_params["sweep"]
    path = request.app.state.project.sweeps().get(name)
    with suppress(OSError, ValueError):
        if path is not None:
            return name, path, json.loads((path / SWEEP_FILE).read_text(encoding="utf-8"))
    raise HTTPException(404)


async def show_sweep(request: Request) -> Response:
    """Show what each combination costs, with a button that puts its values into the plan."""
    name, _, facts = _found_sweep(request)
    return page(
        request,
        "sweep_page.html",
        title="Trade-off",
        here="results",
        name=name,
        settings=[text(each.get("name")) for each in mappings(facts.get("settings"))],
        losses=[mapping(each) for each in facts.get("losses") or ()],
        cells=mappings(facts.get("cells")),
        plan=plan_named(request, text(mapping(facts.get("plan")).get("path"))),
    )


async def sweep_page(request: Request) -> Response:
    """Return the sweep's own page, as it was written, for a frame without any right."""
    _, path, _ = _found_sweep(request)
    file = path / "sweep.html"
    if not file.is_file():
        raise HTTPException(404)
    return HTMLResponse(
        openable(file, "The trade-off").read_bytes(), headers={"content-security-policy": REPORT_POLICY}
    )


async def use(request: Request, form: FormData) -> Response:
    """Put the values of one combination into the plan."""
    _, _, facts = _found_sweep(request)
    cells, place = mappings(facts.get("cells")), whole_number(str(form.get("cell", "")))
    name = text(mapping(facts.get("plan")).get("path"))
    if place is None or place >= len(cells) or request.app.state.project.plan(name) is None:
        raise HTTPException(422, "That combination, or its plan, is not there any more.")
    request.scope["path_params"]["plan"] = name
    plan = found_plan(request)
    values = mapping(cells[place].get("values"))

    def edit(document: PlanDocument) -> None:
        for setting, value in values.items():
            for at in places(document, str(setting)):
                document.set(at, value)

    # Made from the sweep, not from a page of the plan.
    form_now = FormData([*form.multi_items(), ("digest", plan.digest)])
    return edited(request, plan, form_now, edit, f"/plans/{plan.name}/promises")


ROUTES = [
    get("/plans/{plan}/run", show),
    post("/plans/{plan}/run", run),
    post("/plans/{plan}/sweep", sweep),
    get("/sweeps/{sweep}", show_sweep),
    get("/sweeps/{sweep}/page", sweep_page),
    post("/sweeps/{sweep}/use", use),
]
