"""Where it runs: the list of engines."""

from __future__ import annotations

from sfumato.engines.base import Engine
from sfumato.engines.local import LocalEngine, available_threads
from sfumato.parameters import one_of

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (LocalEngine,)}

__all__ = ["ENGINES", "Engine", "LocalEngine", "available_threads", "engine_named"]


def engine_named(name: str) -> Engine:
    """Return an engine by its name, or raise with those that there are."""
    return ENGINES[one_of(name, "the engine", ENGINES)]()
