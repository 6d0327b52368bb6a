"""Jobs: watched while they go on, stopped, started again."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sfumato.report.reading import mapping, mappings
from sfumato.webapp.forms import whole_number
from sfumato.webapp.jobs import Job
from sfumato.webapp.plans import plan_named
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import after, page, parts


def found_job(request: Request) -> Job:
    """Return the job that an address names."""
    job: Job | None = request.app.state.jobs.get(request.path_params["job"])
    if job is None:
        raise HTTPException(404)
    return job


async def show(request: Request) -> Response:
    """Show how far a job is, or how it ended."""
    job, jobs = found_job(request), request.app.state.jobs
    result: dict[str, Any] = dict(jobs.result(job))
    what, do = parts(str(result.get("error", "")))
    return page(
        request,
        "job.html",
        title="Job",
        here="run",
        plan=plan_named(request, job.plan),
        job=job,
        way=jobs.way(job),
        found=what,
        do=do,
        verdicts=mappings(result.get("verdicts")) if job.kind == "audit" else [],
        sentences=[str(each) for each in result.get("sentences") or ()] if job.kind == "check" else [],
        looking_up=mapping(mapping(result.get("looking_up")).get("after")) if job.kind == "check" else {},
        attacks=mappings(result.get("attacks")) if job.kind == "attack" else [],
        notes=[str(each) for each in result.get("notes") or ()] if job.kind in ("audit", "attack") else [],
    )


async def events(request: Request) -> Response:
    """Tell what a job tells, as it does; who was cut off goes on where it was."""
    job, jobs = found_job(request), request.app.state.jobs
    last = whole_number(request.headers.get("last-event-id", "0"), digits=9)
    return StreamingResponse(jobs.stream(job, last or 0), media_type="text/event-stream")


async def cancel(request: Request, form: FormData) -> Response:
    """Stop a job."""
    job = found_job(request)
    await request.app.state.jobs.cancel(job)
    return after(f"/jobs/{job.id}")


async def again(request: Request, form: FormData) -> Response:
    """Start a job that ended otherwise than it should once more."""
    job = found_job(request)
    return after(f"/jobs/{request.app.state.jobs.again(job).id}")


ROUTES = [
    get("/jobs/{job}", show),
    get("/jobs/{job}/events", events),
    post("/jobs/{job}/cancel", cancel),
    post("/jobs/{job}/again", again),
]
