"""Routes: whatever changes something carries a form of this session, or is refused before anybody looks at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sfumato.webapp.guard import form_of

Asked: TypeAlias = Callable[[Request], Awaitable[Response]]
Filled: TypeAlias = Callable[[Request, FormData], Awaitable[Response]]


def get(path: str, shows: Asked) -> Route:
    """Return the route of a page."""
    return Route(path, shows, methods=["GET"])


def post(path: str, does: Filled) -> Route:
    """Return the route of a form; the form's token is checked here, for all of them."""

    async def checked(request: Request) -> Response:
        form = await form_of(request)
        try:
            return await does(request, form)
        finally:
            await form.close()

    return Route(path, checked, methods=["POST"])
