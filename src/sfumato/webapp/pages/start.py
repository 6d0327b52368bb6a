"""The door, the project with its plans, runs and jobs, the words, the files of the pages themselves, and the end."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sfumato.report.markdown import rendered
from sfumato.webapp.concepts import concepts
from sfumato.webapp.guard import ENTER, Session
from sfumato.webapp.routes import get, post
from sfumato.webapp.runs import about_run
from sfumato.webapp.showing import environment, page
from sfumato.webapp.words import WORDS

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_STYLE = "report.css"  # what the report has in its head, for all pages here


async def enter(request: Request) -> Response:
    """Let in who brings the token.

    The answer is a page that goes on by itself: a redirect would count as coming from another site, as the file does
    that a browser is opened with.
    """
    session: Session = request.app.state.session
    value = session.enter(request.query_params.get("token", ""))
    text = environment().get_template("enter.html").render(entered=value is not None)
    answer = HTMLResponse(text, 401 if value is None else 200)
    if value is not None:
        answer.set_cookie(session.cookie, value, httponly=True, samesite="strict", path="/")
    return answer


async def start(request: Request) -> Response:
    """Show the project."""
    project, jobs = request.app.state.project, request.app.state.jobs
    runs = [about_run(name, path, project.folder) for name, path in list(project.runs().items())[:50]]
    return page(
        request,
        "start.html",
        title="Project",
        here="start",
        plans=project.plans(),
        runs=runs,
        sweeps=list(project.sweeps()),
        jobs=jobs.all()[:10],
    )


async def static(request: Request) -> Response:
    """Return a file of the pages themselves."""
    name = request.path_params["name"]
    if name == _STYLE:
        file = files("sfumato.report") / "templates" / "style.css"
    else:
        folder = files("sfumato.webapp") / "static"
        file = next((each for each in folder.iterdir() if each.name == name), folder / "nothing")
    suffix = name[name.rfind(".") :]
    if suffix not in _TYPES or not file.is_file():
        raise HTTPException(404)
    return Response(file.read_bytes(), media_type=_TYPES[suffix])


async def icon(request: Request) -> Response:
    """Return the icon."""
    return Response((files("sfumato.webapp") / "static" / "icon.svg").read_bytes(), media_type=_TYPES[".svg"])


async def words(request: Request) -> Response:
    """Explain a word, or all of them."""
    word = request.path_params.get("word")
    if word is not None and word not in WORDS and word not in concepts():
        raise HTTPException(404)
    about = rendered(concepts()[word], concepts()) if word in concepts() else None
    return page(request, "words.html", title="Words", here="words", word=word, about=about, pages=list(concepts()))


async def end(request: Request, form: FormData) -> Response:
    """End the server; who has jobs under way is asked what becomes of them."""
    state: Any = request.app.state
    choice = form.get("jobs")
    if state.jobs.running() and choice not in ("stop", "keep"):
        return page(request, "quit.html", title="End sfumato")
    state.jobs.keep_running = choice == "keep"
    state.quit()
    return page(request, "ended.html", title="Ended")


ROUTES = [
    get(ENTER, enter),
    get("/", start),
    get("/static/{name}", static),
    get("/favicon.ico", icon),
    get("/help", words),
    get("/help/{word}", words),
    post("/quit", end),
]
