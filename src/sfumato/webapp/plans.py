"""A plan as pages have it: the file itself, what is wrong with it and where, what was before, and how far one is."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.editing import History, PlanDocument, problems
from sfumato.errors import PlanError
from sfumato.parameters import Parameter
from sfumato.report.reading import mapping, text
from sfumato.webapp.forms import Field, field_of, fill_in
from sfumato.webapp.project import Project
from sfumato.webapp.runs import HANDOVER, facts_of
from sfumato.webapp.showing import after, page


@dataclass(frozen=True, kw_only=True)
class Step:
    """One of the steps, with how far one is."""

    id: str
    words: str
    link: str
    state: str  # done, todo, problem
    says: str


@dataclass(frozen=True, kw_only=True)
class OpenPlan:
    """A plan under edit."""

    name: str
    path: Path
    text: str
    digest: str
    document: PlanDocument | None  # None where the text is no TOML
    problems: Mapping[str, Sequence[str]]  # by place
    undo: str = ""  # what would be undone, in words
    redo: str = ""
    ran: str = ""  # the last run by it
    ran_so: bool = False  # whether the plan is still the one of that run
    handed: bool = False  # whether somebody has confirmed it
    steps: tuple[Step, ...] = field(default=())

    @property
    def columns(self) -> Mapping[str, Any]:
        """The columns that the plan names, with what it says of them."""
        found = self.get("columns")
        return {name: mapping(each) for name, each in found.items()} if isinstance(found, Mapping) else {}

    @property
    def requirements(self) -> list[Mapping[str, Any]]:
        """What the plan requires."""
        found = self.get("require")
        return [mapping(each) for each in found] if isinstance(found, list) else []

    def get(self, *place: str | int) -> Any:
        """Return what stands at a place; None if nothing does."""
        return self.document.get(place) if self.document is not None else None

    @property
    def wrong(self) -> list[str]:
        """All that is wrong with it."""
        return [each for texts in self.problems.values() for each in texts]

    def problems_in(self, *tables: str) -> list[str]:
        """Return what is wrong in some tables of the plan."""
        return [
            each
            for place, texts in self.problems.items()
            for each in texts
            if any(place == table or place.startswith((f"{table}.", f"{table}[")) for table in tables)
        ]


def found_plan(request: Request) -> OpenPlan:
    """Return the plan that an address names."""
    project: Project = request.app.state.project
    name = request.path_params["plan"]
    path = project.plan(name)
    if path is None:
        raise HTTPException(404, "There is no such plan in the project: it may have been moved, renamed or deleted.")
    return opened(project, name, path)


def plan_named(request: Request, name: str) -> OpenPlan | None:
    """Return a plan of the project by its name, so that a page stands among its steps; None where there is none."""
    path = request.app.state.project.plan(name)
    return opened(request.app.state.project, name, path) if path is not None else None


def opened(project: Project, name: str, path: Path) -> OpenPlan:
    """Return a plan as it is in its file now."""
    content = path.read_bytes()
    shown = content.decode("utf-8", "replace")
    wrong: dict[str, list[str]] = defaultdict(list)
    for problem in problems(shown, path.parent):
        wrong[problem.place].append(problem.text)
    try:
        document = PlanDocument.from_text(content.decode("utf-8"))
    except (PlanError, UnicodeDecodeError):
        document = None
    history = history_of(project, name)
    made = OpenPlan(
        name=name,
        path=path,
        text=shown,
        digest=hashlib.sha256(content).hexdigest(),
        document=document,
        problems=dict(wrong),
        undo=_words(history, history.position) if history.position > 0 else "",
        redo=_words(history, history.position + 1),
    )
    for run, at in project.runs().items():  # the youngest first
        by = mapping(facts_of(at).get("plan"))
        if text(by.get("path")) == name:
            made = replace(made, ran=run, ran_so=by.get("sha256") == made.digest, handed=(at / HANDOVER).is_file())
            break
    return replace(made, steps=_steps(made))


def history_of(project: Project, name: str) -> History:
    """Return the versions of a plan."""
    return History(project.hidden / "history" / name.removesuffix(".toml"), project.folder)


def _words(history: History, position: int) -> str:
    return history.steps[position].words if 0 <= position < len(history.steps) else ""


# Steps.


def _steps(plan: OpenPlan) -> tuple[Step, ...]:
    base, ran = f"/plans/{plan.name}", plan.ran
    hierarchies = sum(len(texts) for place, texts in plan.problems.items() if place.endswith(".hierarchy"))
    known = [each for each in plan.columns.values() if each.get("role") == "quasi-identifier"]
    built = sum("hierarchy" in each for each in known)
    source = bool(plan.get("source", "path") or plan.get("source", "database"))
    asked = len(plan.get("draft", "questions") or ())
    roles = f"{asked} to answer" if asked else f"{len(plan.columns)} columns"
    promised = len(plan.requirements)
    making = len(plan.problems_in("release", "anonymizers", "measure", "knowledge"))
    result = f"/runs/{ran}" if ran else "/"
    told: tuple[tuple[str, str, int, bool, str], ...] = (  # words, link, problems, whether it is done, what to say then
        ("Data", base, len(plan.problems_in("source", "gather", "")), source, "read"),
        ("Columns", f"{base}/columns", len(plan.problems_in("columns")) - hierarchies, not asked, roles),
        ("Hierarchies", f"{base}/hierarchies", hierarchies, bool(known), f"{built} of {len(known)}"),
        ("Promises", f"{base}/promises", len(plan.problems_in("require")), bool(promised), f"{promised} asked"),
        ("Run", f"{base}/run", making, bool(ran), "done"),
        ("Results", result, 0, bool(ran), "there"),
        ("Hand over", f"{result}#hand-over" if ran else "/", 0, plan.handed, "confirmed"),
    )
    return tuple(_step(*each) for each in told)


def _step(words: str, link: str, wrong: int, done: bool, says: str) -> Step:
    state = "problem" if wrong else "done" if done else "todo"
    shown = {"problem": f"problem ({wrong})", "done": says, "todo": says if says.endswith("answer") else "to do"}[state]
    return Step(id=words.lower().replace(" ", "-"), words=words, link=link, state=state, says=shown)


# Forms of tables.


def fields_at(
    plan: OpenPlan, keys: Iterable[Parameter], *place: str, columns: Sequence[str] | None = None
) -> list[Field]:
    """Return the fields of a table of the plan, with what it says now and what is wrong with it."""
    said, at, names = mapping(plan.get(*place)), ".".join(place), list(plan.columns) if columns is None else columns
    return [field_of(key, said.get(key.name), names, plan.problems, at) for key in keys]


def filled_in(request: Request, form: FormData, keys: Iterable[Parameter], *place: str, then: str) -> Response:
    """Put what a form says for a table into the plan."""
    plan = found_plan(request)

    def change(document: PlanDocument) -> None:
        fill_in(document, place, keys, form, list(plan.columns))

    return edited(request, plan, form, change, f"/plans/{plan.name}{then}")


# Edits.


def edited(
    request: Request,
    plan: OpenPlan,
    form: FormData,
    change: Callable[[PlanDocument], None],
    then: str,
    files: Mapping[str, str] | None = None,
) -> Response:
    """Carry out an edit, keep the version before it, and go on; one of a page that is out of date is asked about.

    Files beside the plan go with it: they are written where the edit is, and undone with it.
    """
    if plan.document is None:
        return after(f"/plans/{plan.name}/text")
    change(plan.document)
    written = history_of(request.app.state.project, plan.name).differing(files or {})
    words = "; ".join([*plan.document.changes, *(f"file {name}" for name in written)])
    if not words:
        return after(then, "same")
    if form.get("digest") != plan.digest:
        return conflict(request, plan, plan.document.text, words)
    save(request, plan, plan.document, words, files)
    return after(then, "saved")


def save(
    request: Request, plan: OpenPlan, document: PlanDocument, words: str, files: Mapping[str, str] | None = None
) -> None:
    """Write a plan unless its file changed meanwhile, and keep the version; its engine is prepared meanwhile."""
    history_of(request.app.state.project, plan.name).record(plan.text, document.text, words, files)
    document.save(plan.path, plan.digest)
    required = document.get(("require",))
    kind = {(each.get("model"), each.get("anonymizer")) for each in required or () if isinstance(each, Mapping)}
    request.app.state.jobs.prepare(plan.name, str(sorted(map(str, kind))) if kind else "")


def conflict(request: Request, plan: OpenPlan, ours: str, words: str) -> Response:
    """Show both versions of a plan that was changed elsewhere: nothing is overwritten."""
    about = {"ours": ours, "theirs": plan.text, "wanted": words}
    return page(request, "conflict.html", 409, title="Changed elsewhere", plan=plan, **about)
