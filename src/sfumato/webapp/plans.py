"""A plan as pages have it: the file itself, what is wrong with it and where, what was before, and how far one is."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.editing import History, PlanDocument, problems
from sfumato.errors import PlanError
from sfumato.report.reading import mapping, text
from sfumato.webapp.project import Project
from sfumato.webapp.runs import facts_of
from sfumato.webapp.showing import after, page

DRAFT_PLACE = "draft"


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
        raise HTTPException(404)
    return opened(project, name, path)


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
    object.__setattr__(made, "steps", _steps(project, made))
    return made


def history_of(project: Project, name: str) -> History:
    """Return the versions of a plan."""
    return History(project.hidden / "history" / name.removesuffix(".toml"))


def _words(history: History, position: int) -> str:
    return history.steps[position].words if 0 <= position < len(history.steps) else ""


# Steps.


def _steps(project: Project, plan: OpenPlan) -> tuple[Step, ...]:
    base = f"/plans/{plan.name}"
    ran = next((name for name, run in project.runs().items() if _ran(run, plan.name)), "")
    wrong_hierarchies = [place for place in plan.problems if place.endswith(".hierarchy")]
    known = [each for each in plan.columns.values() if each.get("role") == "quasi-identifier"]
    with_hierarchy = sum("hierarchy" in each for each in known)
    columns = len(plan.problems_in("columns")) - sum(len(plan.problems[place]) for place in wrong_hierarchies)
    asked = len(plan.get(DRAFT_PLACE, "questions") or ())
    roles = f"{len(plan.columns)} columns" if not asked else f"{asked} to answer"
    result = f"/runs/{ran}" if ran else "/"
    return (
        _step(
            "data",
            "Data",
            base,
            len(plan.problems_in("source", "gather", "")),
            bool(plan.get("source", "path")),
            "read",
        ),
        _step("columns", "Columns", f"{base}/columns", columns, bool(plan.columns) and not asked, roles),
        _step(
            "hierarchies",
            "Hierarchies",
            f"{base}/hierarchies",
            len(wrong_hierarchies),
            bool(known),
            f"{with_hierarchy} of {len(known)}",
        ),
        _step(
            "promises",
            "Promises",
            f"{base}/promises",
            len(plan.problems_in("require")),
            bool(plan.requirements),
            f"{len(plan.requirements)} asked",
        ),
        _step(
            "run",
            "Run",
            f"{base}/run",
            len(plan.problems_in("release", "anonymizers", "measure", "knowledge")),
            bool(ran),
            "done",
        ),
        _step("results", "Results", result, 0, bool(ran), "there"),
        _step("hand-over", "Hand over", f"{result}#hand-over" if ran else "/", 0, False, ""),
    )


def _ran(run: Path, name: str) -> bool:
    return text(mapping(facts_of(run).get("plan")).get("path")) == name


def _step(name: str, words: str, link: str, wrong: int, done: bool, says: str) -> Step:
    state = "problem" if wrong else "done" if done else "todo"
    shown = {"problem": f"problem ({wrong})", "done": says, "todo": says if says.endswith("answer") else "to do"}[state]
    return Step(id=name, words=words, link=link, state=state, says=shown)


# Edits.


def edited(
    request: Request,
    plan: OpenPlan,
    form: FormData,
    change: Callable[[PlanDocument], None],
    then: str,
) -> Response:
    """Carry out an edit, keep the version before it, and go on; one of a page that is out of date is asked about."""
    if plan.document is None:
        return after(f"/plans/{plan.name}/text")
    change(plan.document)
    if not plan.document.changes:
        return after(then, "same")
    words = "; ".join(plan.document.changes)
    if form.get("digest") != plan.digest:
        return conflict(request, plan, plan.document.text, words)
    save(request.app.state.project, plan, plan.document, words)
    return after(then, "saved")


def save(project: Project, plan: OpenPlan, document: PlanDocument, words: str) -> None:
    """Write a plan unless its file changed meanwhile, and keep the version."""
    document.save(plan.path, plan.digest)
    history_of(project, plan.name).record(plan.text, document.text, words)


def conflict(request: Request, plan: OpenPlan, ours: str, words: str) -> Response:
    """Show both versions of a plan that was changed elsewhere: nothing is overwritten."""
    return page(
        request,
        "conflict.html",
        409,
        title="Changed elsewhere",
        plan=plan,
        here="",
        ours=ours,
        theirs=plan.text,
        wanted=words,
    )
