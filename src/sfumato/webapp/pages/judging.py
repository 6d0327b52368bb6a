"""A second opinion: a table that any tool made, judged and attacked by the promises of a plan."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.webapp.forms import said
from sfumato.webapp.project import Project
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import page, to_job

KINDS = {"audit": "Judge it", "attack": "Attack it"}


async def show(request: Request) -> Response:
    """Ask for a table and a plan."""
    project: Project = request.app.state.project
    releases = [project.shown(path / "release") for path in project.runs().values()]
    return page(
        request,
        "judge.html",
        title="A second opinion",
        here="judge",
        plans=project.plans(),
        tables=[*project.tables(), *releases],
    )


async def judge(request: Request, form: FormData) -> Response:
    """Ask for an audit, or for an attack."""
    project: Project = request.app.state.project
    path, plan, kind = project.opened(said(form, "table")), str(form.get("plan", "")), str(form.get("kind"))
    if path is None or project.plan(plan) is None or kind not in KINDS:
        raise HTTPException(422, "Name a table of the project, and choose the plan that it is judged by.")
    return to_job(request, kind, [kind, project.shown(path), "--plan", plan], plan=plan)


ROUTES = [get("/judge", show), post("/judge", judge)]
