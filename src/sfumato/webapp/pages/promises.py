"""Promises: what must hold, each as a card made from what its model says of itself, with the live check beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.data.schema import Role
from sfumato.editing import PlanDocument, counted, named
from sfumato.editing.presets import PRESETS
from sfumato.editing.presets import fill_in as fill_in_preset
from sfumato.parameters import Parameter, Takes
from sfumato.plan.members import Member, promise_of, requirable
from sfumato.webapp.concepts import page_about
from sfumato.webapp.forms import Field, field_of, fill_in, filled, whole_number
from sfumato.webapp.plans import OpenPlan, edited, found_plan
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import page

QUESTIONS: Mapping[Role | None, str] = {
    None: "Can a person's row be found?",
    Role.SENSITIVE: "Does the group give the secret away?",
    Role.QUASI_SENSITIVE: "Can public knowledge turn it into a secret?",
    Role.ITEMS: "Do known items reveal others?",
    Role.SENSITIVE_QUASI_IDENTIFIER: "Is a column clue and secret at once?",
}
_MASKS = "Do secrets give each other away?"


def columns_for(plan: OpenPlan, member: Member) -> list[str]:
    """Return the columns that a model may be about: those of its role, else all."""
    if member.judges is None:
        return list(plan.columns)
    return [name for name, each in plan.columns.items() if each.get("role") == member.judges.value]


def fields_of(plan: OpenPlan, member: Member, given: Mapping[str, Any], place: str = "") -> list[Field]:
    """Return the fields of a model's form."""
    names = columns_for(plan, member)
    made = [field_of(key, given.get(key.name), names, plan.problems, place) for key in member.parameters]
    return [*made, field_of(_by(member), given.get("anonymizer"), names, plan.problems, place)]


def _by(member: Member) -> Parameter:
    """Return the key that names who makes it hold."""
    return Parameter(
        name="anonymizer",
        takes=Takes.CHOICE,
        title="Made by",
        help="Another way to make it hold.",
        choices=member.anonymizers,
        default=member.anonymizers[0] if member.anonymizers else None,
    )


async def show(request: Request) -> Response:
    """Show what is required, and what could be."""
    plan, models = found_plan(request), requirable()
    cards, beside = [], counted(plan.document)
    for place, given in enumerate(plan.requirements):
        member = models.get(str(given.get("model")))
        at = named(("require", place))
        promise, limit = promise_of(given, beside)
        cards.append(
            {
                "place": place,
                "model": str(given.get("model")),
                "summary": member.summary if member else "",
                "fields": fields_of(plan, member, given, at) if member else [],
                "promise": promise,
                "limit": limit,
                "more": page_about(str(given.get("model"))) if member else "",
                "problems": [text for where in (at, f"{at}.", f"{at}.model") for text in plan.problems.get(where, ())],
            }
        )
    return page(
        request,
        "promises.html",
        title="Promises",
        here="promises",
        plan=plan,
        cards=cards,
        more=_groups(plan, models),
        presets=PRESETS,
        wrong=plan.problems.get("require", ()),
    )


def _groups(plan: OpenPlan, models: Mapping[str, Member]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return what could be required, by the question that it answers."""
    found: dict[str, list[dict[str, Any]]] = {question: [] for question in (*QUESTIONS.values(), _MASKS)}
    for member in models.values():
        question = _MASKS if member.masks else QUESTIONS[member.judges]
        example = {key.name: key.example for key in member.parameters if key.required and not key.per_column}
        names = columns_for(plan, member)
        usual = {
            key.name: names[0] if key.takes is Takes.COLUMN else names
            for key in member.parameters
            if key.takes in (Takes.COLUMN, Takes.COLUMNS) and names
        }
        fields = fields_of(plan, member, {**example, **usual})
        found[question].append({"member": member, "fields": fields})
    return list(found.items())


def _member(form: FormData) -> Member:
    member = requirable().get(str(form.get("model")))
    if member is None:
        raise HTTPException(422, "There is no such promise in this version.")
    return member


async def change(request: Request, form: FormData) -> Response:
    """Add, change, move or take away a promise."""
    plan = found_plan(request)
    do, number = str(form.get("do", "save")), whole_number(str(form.get("place", "")))
    if do == "preset" and form.get("preset") not in PRESETS:
        raise HTTPException(422, "There is no such occasion.")

    def edit(document: PlanDocument) -> None:
        if do == "preset":
            fill_in_preset(document, PRESETS[str(form.get("preset"))])
        elif do == "add":
            document.append(("require",), _asked(plan, _member(form), form))
        elif number is None or number >= len(plan.requirements):
            raise HTTPException(422, "That promise is not in the plan any more. Look at the page again.")
        elif do == "remove":
            document.remove(("require", number))
        elif do in ("up", "down"):
            document.move(("require", number), -1 if do == "up" else 1)
        else:
            member = _member(form)
            keys = (*member.parameters, _by(member))
            fill_in(document, ("require", number), keys, form, columns_for(plan, member))

    return edited(request, plan, form, edit, f"/plans/{plan.name}/promises")


def _asked(plan: OpenPlan, member: Member, form: FormData) -> dict[str, Any]:
    """Return a requirement as a form asks for it."""
    names = columns_for(plan, member)
    values = {key.name: filled(key, form, names) for key in (*member.parameters, _by(member))}
    return {"model": member.name, **{name: value for name, value in values.items() if value is not None}}


async def tried(request: Request) -> Response:
    """Show what the plan as it is now would cost."""
    plan = found_plan(request)
    found, why = request.app.state.trials.ask(plan)
    return page(request, "trial.html", title="A trial", here="promises", plan=plan, tried=found, why=why)


ROUTES = [
    get("/plans/{plan}/trial", tried),
    get("/plans/{plan}/promises", show),
    post("/plans/{plan}/promises", change),
]
