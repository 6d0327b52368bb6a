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

from sfumato.editing import PlanDocument
from sfumato.editing.settings import places, settings
from sfumato.report.reading import mapping, mappings, text
from sfumato.webapp.guard import REPORT_POLICY
from sfumato.webapp.plans import edited, found_plan, plan_named
from sfumato.webapp.project import SWEEP_FILE
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import after, page

_VALUES = re.compile(r"[0-9a-z.,/ -]{1,200}", re.IGNORECASE)


def new_name(kind: str, taken: Any) -> str:
    """Return a name for a folder that says when it was made and is not taken yet."""
    stem = datetime.datetime.now().strftime("%Y-%m-%d-%H%M")
    names = (f"{stem}-{kind}" if n == 1 else f"{stem}-{kind}-{n}" for n in range(1, 1000))
    return next(name for name in names if name not in taken)


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
    name = new_name("run", {path.name for path in (project.folder / "runs").glob("*")})
    (project.folder / "runs").mkdir(exist_ok=True)
    seed = str(form.get("seed", "")).strip()
    if seed and not (seed.isascii() and seed.isdigit() and len(seed) < 16):
        raise HTTPException(422, "A seed is a whole number. Leave it out unless you test.")
    words = ["anonymize", plan.name, "--out", f"runs/{name}", *(("--seed", seed) if seed else ())]
    for other in jobs.running():
        if other.kind == "warm":  # the run prepares what it needs by itself
            await jobs.cancel(other)
    job = jobs.ask("run", words, plan=plan.name, digest=plan.digest, target=f"runs/{name}", then=f"/runs/{name}")
    return after(f"/jobs/{job.id}")


async def sweep(request: Request, form: FormData) -> Response:
    """Ask for a sweep over the settings that have values."""
    plan = found_plan(request)
    project, jobs = request.app.state.project, request.app.state.jobs
    vary = []
    for number, setting in enumerate(settings(plan.document) if plan.document is not None else ()):
        values = str(form.get(f"values.{number}", "")).replace(" ", "")
        if values and not _VALUES.fullmatch(values):
            raise HTTPException(422, "Values are written such as 2,5,10 or 0.2..0.5.")
        vary += ["--vary", f"{setting['name']}={values}"] if values else []
    if not vary:
        raise HTTPException(422, "Give values to at least one setting, such as 2,5,10 or 0.2..0.5.")
    (project.folder / "sweeps").mkdir(exist_ok=True)
    name = new_name("sweep", {path.name for path in (project.folder / "sweeps").glob("*")})
    words = ["sweep", plan.name, *vary, "--out", f"sweeps/{name}", "--jobs", "1"]
    job = jobs.ask("sweep", words, plan=plan.name, digest=plan.digest, target=f"sweeps/{name}", then=f"/sweeps/{name}")
    return after(f"/jobs/{job.id}")


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
    return HTMLResponse(file.read_bytes(), headers={"content-security-policy": REPORT_POLICY})


async def use(request: Request, form: FormData) -> Response:
    """Put the values of one combination into the plan."""
    _, _, facts = _found_sweep(request)
    cells, place = mappings(facts.get("cells")), str(form.get("cell", ""))
    name = text(mapping(facts.get("plan")).get("path"))
    project = request.app.state.project
    if (
        not (place.isascii() and place.isdigit() and len(place) < 6 and int(place) < len(cells))
        or project.plan(name) is None
    ):
        raise HTTPException(422, "That combination, or its plan, is not there any more.")
    request.scope["path_params"]["plan"] = name
    plan = found_plan(request)
    values = mapping(cells[int(place)].get("values"))

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
