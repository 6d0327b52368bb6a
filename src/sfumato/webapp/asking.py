"""Questions about data: asked of a process of their own, so that no page waits for long and none dies with it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from anyio import to_thread
from starlette.requests import Request

from sfumato.errors import InputError, SfumatoError
from sfumato.webapp.plans import OpenPlan
from sfumato.webapp.showing import WAITING

PATIENCE = 4.0  # seconds that a page waits for an answer; then it says so, and asks again by itself


async def asked(request: Request, plan: OpenPlan, what: str, **given: Any) -> tuple[Any, str]:
    """Return the answer to a question about the data of a plan, or None and why there is none yet."""
    if plan.problems and what == "reach":
        return None, "The plan has problems: once they are solved, this can be judged."
    benches: dict[str, Any] = request.app.state.benches
    if plan.name not in benches:
        benches[plan.name] = request.app.state.bench(plan.path)
    question = partial(benches[plan.name].ask, what, **given)
    try:
        async with asyncio.timeout(PATIENCE):
            return await to_thread.run_sync(question, abandon_on_cancel=True), ""
    except TimeoutError:
        return None, WAITING
    except InputError as error:
        return None, str(error)
    except SfumatoError:
        return None, "The process that counts ended, and was started again: ask once more."
