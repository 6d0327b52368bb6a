"""Tables of the plan as forms, made from what their keys say of themselves: whom it is about, how it is made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.plan.keys import SOURCE, TABLES, Table
from sfumato.plan.members import able, requirable
from sfumato.webapp.plans import OpenPlan, fields_at, filled_in, found_plan
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import page

_ABOUT_PEOPLE = ("person", "weight", "household")
_SOURCE = tuple(key for key in SOURCE.keys if key.name not in ("path", *_ABOUT_PEOPLE))
_PEOPLE = tuple(key for key in SOURCE.keys if key.name in _ABOUT_PEOPLE)
_ON_DATA = ("source", "people", "gather", "population")  # the others are on the page about making


def table_forms() -> dict[str, tuple[tuple[str, ...], Table]]:
    """Return the tables, or parts of them, that have a form, each with its place in the plan."""
    makers = {name: Table(title=name, help=each.summary, keys=each.parameters) for name, each in able().items()}
    return {
        "source": (("source",), replace(SOURCE, keys=_SOURCE)),
        "people": (("source",), replace(SOURCE, keys=_PEOPLE)),
        **{name: ((name,), TABLES[name]) for name in ("gather", "population", "release", "measure", "engine")},
        **{f"anonymizers.{name}": (("anonymizers", name), table) for name, table in makers.items() if table.keys},
    }


def shown(plan: OpenPlan, *, on_data: bool) -> dict[str, dict[str, Any]]:
    """Return the forms of a page with what the plan says now."""
    found = {}
    for name, (place, table) in table_forms().items():
        if (name in _ON_DATA) == on_data:
            said = any(plan.get(*place, key.name) is not None for key in table.keys)
            fields = fields_at(plan, table.keys, *place)
            found[name] = {"name": name, "title": table.title, "help": table.help, "fields": fields, "said": said}
    return found


async def making(request: Request) -> Response:
    """Show how the release is made and written, with the options of what may make it."""
    plan, models = found_plan(request), requirable()
    usual = {name: member.anonymizers[0] for name, member in models.items() if member.anonymizers}
    used = {each.get("anonymizer") or usual.get(str(each.get("model"))) for each in plan.requirements}
    forms = shown(plan, on_data=False).values()
    makers = [{**each, "said": each["title"] in used} for each in forms if "." in each["name"]]
    tables = [each for each in forms if "." not in each["name"]]
    return page(request, "release.html", title="How it is made", here="run", plan=plan, forms=tables, makers=makers)


async def change(request: Request, form: FormData) -> Response:
    """Change one of them."""
    name = str(form.get("plan_table", ""))
    if name not in table_forms():
        raise HTTPException(422, "There is no such table in a plan.")
    place, table = table_forms()[name]
    return filled_in(request, form, table.keys, *place, then="" if name in _ON_DATA else "/release")


ROUTES = [get("/plans/{plan}/release", making), post("/plans/{plan}/table", change)]
