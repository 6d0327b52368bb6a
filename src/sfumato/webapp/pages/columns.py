"""Columns: what each may reveal, many at once, with the reason of each guess and who is unique by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.data.schema import SECRET_ROLES, Kind, Role
from sfumato.editing import PlanDocument
from sfumato.plan.keys import COLUMN, REST
from sfumato.webapp.asking import asked
from sfumato.webapp.forms import whole_number
from sfumato.webapp.plans import OpenPlan, edited, fields_at, filled_in, found_plan
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import page

AT_ONCE = 100  # rows of the table
MOST_BARS = 15  # values of a column whose rows are shown
_KEYS = tuple(key for key in COLUMN.keys if key.name != "hierarchy")  # which has a page of its own
SECRET = frozenset(role.value for role in SECRET_ROLES)


async def facts_by_name(request: Request, plan: OpenPlan) -> tuple[dict[str, Mapping[str, Any]], str]:
    """Return what is known of each column from the data, or nothing and why."""
    found, why = await asked(request, plan, "columns")
    return {str(each["name"]): each for each in found or ()}, why


async def show(request: Request) -> Response:
    """Show all columns, a hundred at a time."""
    plan = found_plan(request)
    facts, why = await facts_by_name(request, plan)
    known = [name for name, each in plan.columns.items() if each.get("role") == Role.QUASI_IDENTIFIER]
    unique, _ = await asked(request, plan, "uniqueness", names=known) if known and facts else (None, "")
    numbers = {name: number for number, name in enumerate(plan.columns)}
    names = list(facts) if facts else [name for name in plan.columns if name != REST]
    rows = [_row(plan, name, numbers.get(name), facts.get(name, {}), unique) for name in names]
    wanted = request.query_params.get("role", "")
    shown = [row for row in rows if wanted in ("", row["role"]) or (wanted == "problem" and row["problems"])]
    first = AT_ONCE * (whole_number(request.query_params.get("page", "0"), digits=4) or 0)
    rows = shown[first : first + AT_ONCE]
    open_ones = [str(row["name"]) for row in rows if row["role"] and row["role"] not in SECRET]
    looks, _ = await asked(request, plan, "looks", names=open_ones) if facts else (None, "")
    return page(
        request,
        "columns_page.html",
        title="Columns",
        here="columns",
        plan=plan,
        rows=rows,
        looks=looks or {},
        first=first,
        at_once=AT_ONCE,
        of=len(shown),
        wanted=wanted,
        roles=list(Role),
        kinds=list(Kind),
        unique=unique,
        why=why,
        wrong=[text for place in ("columns", f"columns.{REST}") for text in plan.problems.get(place, ())],
    )


def _row(plan: OpenPlan, name: str, number: int | None, facts: Mapping[str, Any], unique: Any) -> dict[str, Any]:
    said = plan.columns.get(name, {})
    without = (unique or {}).get("without", {})
    people = (unique or {}).get("people", 0)
    return {
        "name": name,
        "number": number,
        "role": str(said.get("role") or facts.get("role") or ""),
        "kind": str(said.get("kind") or facts.get("kind") or ""),
        "facts": facts,
        "without": without[name] / people if name in without and people else None,
        "problems": plan.problems_in(f"columns.{name}"),
    }


async def change(request: Request, form: FormData) -> Response:
    """Set the roles of the table, or role and kind of all that are ticked."""
    plan = found_plan(request)
    roles, kinds = {role.value for role in Role}, {kind.value for kind in Kind}
    role, kind = str(form.get("role", "")), str(form.get("kind", ""))
    ticked = [str(name) for name in form.getlist("column")]
    alike = str(form.get("like", ""))
    if form.get("do") == "all" and not (ticked and (role in roles or kind in kinds or alike)):
        raise HTTPException(422, "Tick the columns first, and choose what they shall get.")

    def edit(document: PlanDocument) -> None:
        if form.get("do") == "all":
            for name in ticked:
                if role in roles:
                    document.set(("columns", name, "role"), role)
                if kind in kinds:
                    document.set(("columns", name, "kind"), kind)
                if alike and alike != name:
                    document.set(("columns", name, "hierarchy"), document.get(("columns", alike, "hierarchy")))
            return
        for number, each in enumerate(form.getlist("name")):
            chosen = str(form.get(f"role.{number}", ""))
            if chosen in roles and chosen != form.get(f"was.{number}"):
                document.set(("columns", str(each), "role"), chosen)

    return edited(request, plan, form, edit, f"/plans/{plan.name}/columns")


# One column.


def found_column(request: Request, plan: OpenPlan) -> str:
    """Return the name of the column whose number an address has: names never stand in addresses."""
    number, names = whole_number(request.path_params["column"]), list(plan.columns)
    if number is None or number >= len(names):
        raise HTTPException(404)
    return names[number]


async def show_one(request: Request) -> Response:
    """Show one column: what is known of it, what each role would do to it, and all its settings."""
    plan = found_plan(request)
    name = found_column(request, plan)
    facts, why = await facts_by_name(request, plan)
    said = plan.columns[name]
    uncovered = said.get("role") not in SECRET or request.query_params.get("show") == "yes"
    values, _ = await asked(request, plan, "values", name=name, most=MOST_BARS) if uncovered and facts else (None, "")
    known_by, _ = await asked(request, plan, "known_by", name=name) if name in facts else (None, "")
    quasi = [other for other, each in plan.columns.items() if each.get("role") == Role.QUASI_IDENTIFIER]
    names = list(dict.fromkeys([*quasi, name]))
    unique, _ = await asked(request, plan, "uniqueness", names=names) if name in facts else (None, "")
    return page(
        request,
        "column.html",
        title="Column",
        here="columns",
        plan=plan,
        name=name,
        number=request.path_params["column"],
        facts=facts.get(name, {}),
        why=why,
        values=values,
        known_by=known_by or [],
        unique=unique,
        covered=not uncovered,
        roles=list(Role),
        role=said.get("role", ""),
        hierarchy=said.get("hierarchy"),
        fields=fields_at(plan, _KEYS[:2], "columns", name),
        rarely=fields_at(plan, _KEYS[2:], "columns", name),
        wrong=plan.problems.get(f"columns.{name}", ()),
    )


async def change_one(request: Request, form: FormData) -> Response:
    """Change the settings of one column."""
    name = found_column(request, found_plan(request))
    return filled_in(request, form, _KEYS, "columns", name, then=f"/columns/{request.path_params['column']}")


ROUTES = [
    get("/plans/{plan}/columns", show),
    post("/plans/{plan}/columns", change),
    get("/plans/{plan}/columns/{column}", show_one),
    post("/plans/{plan}/columns/{column}", change_one),
]
