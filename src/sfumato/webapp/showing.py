"""Pages from templates: the frame around all of them, and the look that they share with the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sfumato import __version__
from sfumato.report.page import environment as report_environment
from sfumato.report.page import harmless
from sfumato.report.wording import amount, count, figure, moment, plain, seconds, share
from sfumato.webapp.language import speak, translations
from sfumato.webapp.words import WORDS

WAITING = "Still counting: look again in a moment."
TRYING = "A trial is under way."

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment() -> Environment:
    """Return where templates come from: ours, and those of the report; everything in them is escaped."""
    from jinja2 import ChoiceLoader, PackageLoader

    loaders = [PackageLoader("sfumato.webapp"), PackageLoader("sfumato.report")]
    made = report_environment().overlay(loader=ChoiceLoader(loaders))
    made.filters, made.globals = {**made.filters}, {**made.globals}  # the report keeps its own
    for filter_ in (amount, count, figure, moment, plain, seconds, share):
        made.filters[filter_.__name__] = filter_
    speak(made, translations())
    made.globals["version"], made.globals["waiting"] = __version__, WAITING
    made.globals["words"] = WORDS
    made.globals["under_way"] = TRYING
    return made


def page(request: Request, template: str, status: int = 200, **content: Any) -> HTMLResponse:
    """Return a page of the app."""
    state = request.app.state
    shown = environment().get_template(template)
    text = shown.render(
        project=state.project.folder.name or str(state.project.folder),
        form_token=state.session.form_token,
        running=state.jobs.running(),
        said=request.query_params.get("said", "") in SAID and SAID[request.query_params["said"]],
        **{"plan": None, "here": "", "title": "sfumato", **content},
    )
    return HTMLResponse(harmless(text), status)


# What a page says after something was done: a word in the address, never text from it.
SAID: Mapping[str, str] = {
    "saved": "Saved.",
    "same": "Nothing was changed.",
    "undone": "Undone.",
    "redone": "Done again.",
    "nothing": "There is nothing to undo.",
    "deleted": "The run was deleted.",
    "confirmed": "Noted: a person has looked at the roles.",
}


def after(path: str, said: str = "") -> Response:
    """Send the browser on to a page after something was done."""
    return RedirectResponse(f"{path}?said={said}" if said else path, 303)


def to_job(request: Request, kind: str, words: Sequence[str], **about: Any) -> Response:
    """Ask for a command, and send the browser on to the page that follows it; `about` as in `Job`."""
    return after(f"/jobs/{request.app.state.jobs.ask(kind, words, **about).id}")


def refused(request: Request, status: int, what: str, found: str = "", do: str = "") -> HTMLResponse:
    """Return a page about what went wrong: what was asked, what was found, what to do."""
    return page(request, "error.html", status, title="Not done", what=what, found=found, do=do)


def parts(message: str) -> tuple[str, str]:
    r"""Return a message of the core as what was found, and what to do.

    >>> parts("k was given as 0.\nWrite 5.")
    ('k was given as 0.', 'Write 5.')
    """
    found, _, do = message.strip().partition("\n")
    return found, do
