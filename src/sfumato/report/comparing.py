"""Several runs side by side: what each reached and cost, and what their plans have otherwise."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.data.files import digest
from sfumato.disk import openable
from sfumato.errors import DataError
from sfumato.report import verdict
from sfumato.report.reading import main_measurements, mapping, mappings, text
from sfumato.report.wording import amount, plain


def compared(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what runs have reached and cost, one row a measure, and how their plans differ."""
    rows: dict[str, dict[str, str]] = {}
    for name, facts in runs.items():
        for entry in mappings(facts.get("verdicts")):
            title = f"{text(entry.get('model'))} {', '.join(entry.get('columns') or ())}".strip()
            rows.setdefault(f"{title}: {text(entry.get('measure'))}", {})[name] = plain(entry.get("reached"))
        for entry in main_measurements(facts):
            title = text(entry.get("title")) or text(entry.get("name"))
            rows.setdefault(title, {})[name] = amount(entry.get("value"), text(entry.get("unit")))
        rows.setdefault("rows published", {})[name] = plain(mapping(facts.get("release")).get("rows"))
    exposed = {name: verdict.content(facts)["exposed"] for name, facts in runs.items()}
    return {"names": list(runs), "rows": rows, "exposed": exposed, "changes": _changes(list(runs.items()))}


def _changes(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, list[str]]]:
    """Return for each run but the first what its plan has otherwise than the one before."""
    plans = [(name, dict(_leaves(_plan_of(facts)))) for name, facts in runs]
    return [
        (f"{before} → {after}", _differences(old, new)) for (before, old), (after, new) in itertools.pairwise(plans)
    ]


def changed_since(facts: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the places in the plan of a run whose files are not those that it was made and judged by any more.

    The source is not read for it: it may be large, and a release of it stays what it is.
    """
    plan, inputs = _plan_of(facts), mapping(facts.get("inputs"))
    changed = []
    for place, before in inputs.items():
        found: Any = plan
        for key in place.split("."):
            found = mapping(found).get(key)
        path = folder / found if isinstance(found, str) and not place.startswith("source") else None
        with suppress(DataError):  # gone meanwhile, or outside of the folders that may be opened here
            if path is not None and openable(path, place).is_file() and digest(path) != before:
                changed.append(place)
    return changed


def _plan_of(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(text(mapping(facts.get("plan")).get("text")))
    return {}


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return in words what differs.

    >>> _differences({"k-anonymity: k": 5, "a: role": "other"}, {"k-anonymity: k": 10})
    ['k-anonymity: k 5 → 10', 'a: role other → nothing']
    """
    keys = dict.fromkeys([*old, *new])
    shown = {key: (_short(old.get(key)), _short(new.get(key))) for key in keys if old.get(key) != new.get(key)}
    return [f"{key} {before} → {after}" for key, (before, after) in shown.items()]


def _short(value: Any) -> str:
    return "nothing" if value is None else plain(value)


def _leaves(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what a plan says, each by words for its place."""
    for key, value in table.items():
        if key == "require" and isinstance(value, list):
            for requirement in mappings(value):
                columns = [requirement[name] for name in ("sensitive", "column") if name in requirement]
                title = " of ".join(map(str, [requirement.get("model"), *columns]))
                yield from _leaves({name: each for name, each in requirement.items() if name != "model"}, f"{title}: ")
        elif isinstance(value, Mapping):
            yield from _leaves(value, f"{'' if key == 'columns' else above}{'' if key == 'columns' else f'{key}: '}")
        else:
            yield f"{above}{key}", value
