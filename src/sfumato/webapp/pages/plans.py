"""One plan: what it does with its data, the text itself, the way back and forth, and the live check."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from anyio import to_thread
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.editing import PlanDocument, Step, on_lines, problems
from sfumato.errors import InputError, PlanError
from sfumato.plan import Plan
from sfumato.webapp.asking import asked
from sfumato.webapp.pages.tables import shown
from sfumato.webapp.plans import OpenPlan, conflict, edited, found_plan, history_of, save
from sfumato.webapp.routes import get, post
from sfumato.webapp.showing import after, page, parts


async def overview(request: Request) -> Response:
    """Show what the plan will do, in what order and why, or everything that is wrong with it."""
    plan = found_plan(request)
    if plan.document is None:
        return after(f"/plans/{plan.name}/text")
    told, wrong = None, plan.wrong
    if not wrong:
        try:
            told = await to_thread.run_sync(lambda: Plan.load(plan.path).explain().as_dict())
        except PlanError as error:
            wrong = [problem.text for problem in error.problems]
        except InputError as error:
            wrong = [str(error)]
    source = plan.get("source") or {}
    return page(
        request,
        "plan.html",
        title="Plan",
        here="data",
        plan=plan,
        shown=told,
        wrong=[parts(each) for each in wrong],
        questions=plan.get("draft", "questions") or [],
        source=source.get("path", ""),
        forms=shown(plan, on_data=True),
    )


async def answer(request: Request, form: FormData) -> Response:
    """Take away a question of the draft that its holder has answered."""
    plan = found_plan(request)
    open_yet = list(plan.get("draft", "questions") or [])
    answered = str(form.get("question", ""))
    left = [question for question in open_yet if question != answered]

    def change(document: PlanDocument) -> None:
        if left:
            document.set(("draft", "questions"), left)
        else:
            document.remove(("draft",))

    return edited(request, plan, form, change, f"/plans/{plan.name}")


# The text itself.


async def as_text(request: Request) -> Response:
    """Show the text of the plan, with its problems and its versions."""
    plan = found_plan(request)
    return _text_page(request, plan, plan.text, history_of(request.app.state.project, plan.name).steps)


def _text_page(request: Request, plan: OpenPlan, text: str, steps: Sequence[Step] = ()) -> Response:
    wrong = on_lines(text, problems(text, plan.path.parent))
    return page(request, "text.html", title="Plan as text", plan=plan, text=text, wrong=wrong, steps=steps, here="text")


async def write_text(request: Request, form: FormData) -> Response:
    """Save the text; text that is no plan is saved only if it is TOML, and its problems are shown beside it."""
    plan = found_plan(request)
    given = str(form.get("text", "")).replace("\r\n", "\n")
    if "\r\n" in plan.text:
        given = given.replace("\n", "\r\n")
    if given == plan.text:
        return after(f"/plans/{plan.name}/text", "same")
    try:
        document = PlanDocument.from_text(given)
    except PlanError:
        return _text_page(request, plan, given)
    if form.get("digest") != plan.digest:
        return conflict(request, plan, given, "the text")
    save(request, plan, document, "text edited")
    wrong = problems(given, plan.path.parent)
    return after(f"/plans/{plan.name}/text" if wrong else f"/plans/{plan.name}", "saved")


async def _step(request: Request, form: FormData, *, back: bool) -> Response:
    """Go back to the version before, or forth again."""
    plan = found_plan(request)
    history = history_of(request.app.state.project, plan.name)
    then = f"/plans/{plan.name}"
    if form.get("digest") != plan.digest:
        raise HTTPException(409, "The plan was changed since this page was shown. Look at it again first.")
    text = history.undo(plan.text) if back else history.redo(plan.text)
    if text is None:
        return after(then, "nothing")
    PlanDocument.from_text(text).save(plan.path, plan.digest)
    return after(then, "undone" if back else "redone")


# Where one stands.


async def check(request: Request) -> Response:
    """Show who is unique, and whether the promises can be kept at all."""
    plan = found_plan(request)
    known = [name for name, each in plan.columns.items() if each.get("role") == "quasi-identifier"]
    unique, no_count = await asked(request, plan, "uniqueness", names=known) if known else (None, "")
    reach, no_reach = await asked(request, plan, "reach") if plan.requirements else (None, "")
    return page(
        request,
        "check.html",
        title="Live check",
        plan=plan,
        unique=unique,
        no_count=no_count,
        reach=reach,
        no_reach=no_reach,
        checked=True,
    )


ROUTES = [
    get("/plans/{plan}", overview),
    post("/plans/{plan}/answer", answer),
    get("/plans/{plan}/text", as_text),
    post("/plans/{plan}/text", write_text),
    post("/plans/{plan}/undo", partial(_step, back=True)),
    post("/plans/{plan}/redo", partial(_step, back=False)),
    get("/plans/{plan}/check", check),
]
