"""Where it runs: the list of engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.engines.base import Engine
from sfumato.engines.local import LocalEngine, available_threads
from sfumato.engines.spark import SparkEngine
from sfumato.errors import PolicyError
from sfumato.parameters import one_of

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (LocalEngine, SparkEngine)}

__all__ = ["ENGINES", "Engine", "LocalEngine", "SparkEngine", "available_threads", "engine_named"]


def engine_named(name: str, options: Mapping[str, Any] | None = None) -> Engine:
    """Return an engine by its name, with what it is told of where to run; or raise with those that there are."""
    given = {key: value for key, value in (options or {}).items() if value is not None}
    if given and name == LocalEngine.name:
        words = ", ".join(f"--{key.replace('_', '-')}" for key in given)
        raise PolicyError(f"{words} was given, but the engine is local.\nAdd --engine spark, or leave it out.")
    return ENGINES[one_of(name, "the engine", ENGINES)](**given)
