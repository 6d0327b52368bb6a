"""Hierarchies: how values become coarser. Made by a rule, by hand, from a file or like another column's; always the
same tree and the same line about what it covers, and a file is checked before it takes the place of another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.data.dates import DATE_LEVELS
from sfumato.editing import PlanDocument
from sfumato.editing.grouping import Draft
from sfumato.editing.hierarchies import by_rule, file_name
from sfumato.errors import PolicyError
from sfumato.parameters import as_toml
from sfumato.webapp.asking import asked
from sfumato.webapp.forms import said
from sfumato.webapp.guard import BODY_BYTES
from sfumato.webapp.pages.columns import SECRET, facts_by_name, found_column
from sfumato.webapp.plans import OpenPlan, edited, found_plan
from sfumato.webapp.project import Project, write_private
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import page, parts

MOST_VALUES = 500  # that are grouped by hand


async def show_all(request: Request) -> Response:
    """Show which columns have a hierarchy, and whether it knows all values."""
    plan = found_plan(request)
    by_name, why = await facts_by_name(request, plan)
    rows = [
        {
            "number": number,
            "name": name,
            "role": each.get("role", ""),
            "written": _told(each.get("hierarchy")),
            "facts": by_name.get(name, {}),
            "problems": plan.problems.get(f"columns.{name}.hierarchy", ()),
        }
        for number, (name, each) in enumerate(plan.columns.items())
        if each.get("role") == "quasi-identifier" or "hierarchy" in each
    ]
    return page(request, "hierarchies.html", title="Hierarchies", here="hierarchies", plan=plan, rows=rows, why=why)


def _told(given: Any) -> str:
    """Return in words how a plan gives a hierarchy."""
    if given is None:
        return ""
    if isinstance(given, str):
        return f"file {given}"
    rule = next(iter(given), "") if isinstance(given, Mapping) else ""
    return as_toml(given) if rule in ("widths", "prefix", "dates", "flat", "edges") else "a tree in the plan"


async def show(request: Request) -> Response:
    """Show the hierarchy of a column, and the ways to another one."""
    plan = found_plan(request)
    name = found_column(request, plan)
    return await _editor(request, plan, name, plan.columns[name].get("hierarchy"))


async def _editor(
    request: Request,
    plan: OpenPlan,
    name: str,
    given: Any,
    *,
    proposed: bool = False,
    file: str = "",
    draft: Draft | None = None,
    oops: tuple[str, str] = ("", ""),
) -> Response:
    """Show what a hierarchy does to the column: the plan's own, or one that was proposed and is not in the plan yet."""
    shown = plan.columns[name].get("role") not in SECRET or request.query_params.get("show") == "yes" or bool(file)
    found, why = (None, "") if given is None else await asked(request, plan, "coverage", name=name, hierarchy=given)
    values, waits = None, ""
    if shown and draft is None and (found or given is None):
        values, waits = await asked(request, plan, "groups", name=name, hierarchy=given, most=MOST_VALUES)
        draft = Draft.of(values["values"], values["above"]) if values else None
    return page(
        request,
        "hierarchy.html",
        422 if why and proposed else 200,
        title="Hierarchy",
        here="hierarchies",
        plan=plan,
        name=name,
        number=request.path_params["column"],
        told=_told(plan.columns[name].get("hierarchy")),
        proposed=proposed,
        file=file,
        found=found,
        why=parts(why or waits),
        covered=not shown,
        tree=_tree(found["paths"]) if found else {},
        levels=max((len(path) for path in found["paths"]), default=0) if found else 0,
        others=[other for other, each in plan.columns.items() if other != name and "hierarchy" in each],
        date_levels=tuple(DATE_LEVELS),
        wrong=plan.problems.get(f"columns.{name}.hierarchy", ()),
        draft=draft,
        too_many=values["more"] if values else 0,
        oops=oops,
    )


def _tree(paths: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return values below what they become, from the root down."""
    tree: dict[str, Any] = {}
    for path in paths:
        at = tree
        for label in reversed(path):
            at = at.setdefault(label, {})
    return tree


# Ways to another one.


async def _stepped(request: Request, plan: OpenPlan, name: str, form: FormData, draft: Draft) -> Response:
    """Show groups after the step that a form asks for, or what is missing for it."""
    do, oops = str(form.get("do", "move")), ("", "")
    given = str(form.get(f"name.{do.partition('.')[2]}") or form.get("name", ""))
    try:
        draft = draft.after(do, [str(each) for each in form.getlist("pick")], given)
    except PolicyError as error:
        oops = parts(str(error))
    text = draft.now.text
    tried = _tried(request, plan, "hand.csv", text)
    return await _editor(request, plan, name, tried, proposed=True, file=text, draft=draft, oops=oops)


def _lines(request: Request, form: FormData) -> str:
    """Return the lines of a file that somebody pasted, or that lies in a folder that may be opened."""
    if form.get("way") == "file":
        return str(form.get("text", "")).replace("\r\n", "\n")
    project: Project = request.app.state.project
    path = project.opened(said(form, "path"))
    if path is None or not path.is_file() or path.stat().st_size > BODY_BYTES:
        raise HTTPException(422, "There is no file at this path that may be opened, or it is larger than 2 MB.")
    return path.read_text(encoding="utf-8", errors="replace")


async def change(request: Request, form: FormData) -> Response:
    """Check a hierarchy, or put it into the plan; a file that does not know all values is asked about first."""
    plan = found_plan(request)
    name = found_column(request, plan)
    way, text = str(form.get("way", "")), ""
    if way == "none":
        given: Any = None
    elif way == "rule":
        levels = [str(each) for each in form.getlist("levels")]
        given = by_rule(str(form.get("rule", "")), str(form.get("numbers", "")), levels)
    elif way == "like":
        given = plan.columns.get(str(form.get("other", "")), {}).get("hierarchy")
    elif way in ("hand", "file", "path"):
        draft = Draft.read(str(form.get("draft")), list(map(str, form.getlist("earlier")))) if way == "hand" else None
        if draft is not None and form.get("do") != "use":
            return await _stepped(request, plan, name, form, draft)
        text = draft.now.text if draft is not None else _lines(request, form)
        if not text.strip():
            raise HTTPException(422, "Paste the lines of the file first: value;level 1;level 2;*")
        others = [each.get("hierarchy") for other, each in plan.columns.items() if other != name]
        given = file_name(name, text, {each for each in others if isinstance(each, str)})  # those stay as they are
    else:
        raise HTTPException(422, "Choose a way to make the hierarchy.")
    if given is not None:
        tried, taken = _tried(request, plan, given, text), False
        if form.get("do") != "look":
            found, _ = await asked(request, plan, "coverage", name=name, hierarchy=tried)
            taken = form.get("sure") == "yes" or (found is not None and found["state"] == "complete")
        if not taken:
            return await _editor(request, plan, name, tried, proposed=True, file=text)
    numbered = f"/plans/{plan.name}/columns/{request.path_params['column']}/hierarchy"

    def edit(document: PlanDocument) -> None:
        document.set(("columns", name, "hierarchy"), given)

    return edited(request, plan, form, edit, numbered, {str(given): text} if text else None)


def _tried(request: Request, plan: OpenPlan, given: Any, text: str) -> Any:
    """Return a hierarchy so that it can be asked about before it is there: a file lies in the hidden folder then."""
    if not text:
        return given
    path = request.app.state.project.hidden / f"proposed{str(given)[str(given).rfind('.') :]}"
    write_private(path, text)
    return path.relative_to(plan.path.parent).as_posix()


ROUTES = [
    get("/plans/{plan}/hierarchies", show_all),
    get("/plans/{plan}/columns/{column}/hierarchy", show),
    post("/plans/{plan}/columns/{column}/hierarchy", change),
]
