"""How it was made: the steps of the work, and where the time went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.report.plots import AFTER, Picture, Table, bar_chart
from sfumato.report.reading import Facts, mapping, mappings, number, text
from sfumato.report.wording import UNKNOWN, listed, plain, seconds

TITLE = "How it was made"


def content(facts: Facts) -> dict[str, Any] | None:
    """Return the steps of the work and where the time went."""
    done = [_step(entry, i) for i, entry in enumerate(mappings(facts.get("steps")), start=1)]
    time = _time(facts)
    return {"steps": done, "time": time} if done or time else None


def _step(entry: Facts, position: int) -> dict[str, Any]:
    said = {name: value for name, value in mapping(entry.get("facts")).items() if value not in (None, "", [], {})}
    models = [text(model.get("model")) for model in mappings(entry.get("requirements"))]
    why = text(entry.get("why")).strip()
    pairs = [("Aims at", listed(models))] if models else []
    if chosen := mapping(entry.get("chosen")):
        pairs.append(("Set in the plan", ", ".join(f"{name} = {plain(value)}" for name, value in chosen.items())))
    tables = [(_spaced(name), table) for name, value in said.items() if (table := _table(value)) is not None]
    pairs += [(_spaced(name), plain(value)) for name, value in said.items() if _table(value) is None]
    return {
        "title": f"Step {position}: {text(entry.get('anonymizer'))}",
        "why": f"{why[0].upper()}{why[1:].rstrip('.')}." if why else "",
        "pairs": pairs,
        "tables": tables,
    }


def _table(value: object) -> Table | None:
    """Return what is no single figure as a table: a row for each name, or for each entry of a list."""
    if isinstance(value, Mapping):
        rows = [[_spaced(name), plain(each)] for name, each in value.items() if each not in (None, "", [], {})]
        return Table(head=["Figure", "Value"], rows=rows)
    entries = mappings(value)
    if not entries:
        return None
    head = list(dict.fromkeys(name for each in entries for name in each))
    return Table(
        head=[_spaced(name) for name in head],
        rows=[[plain(each[name]) if name in each else UNKNOWN for name in head] for each in entries],
    )


def _spaced(name: str) -> str:
    words = text(name).replace("_", " ")
    return words[:1].upper() + words[1:]


def _time(facts: Facts) -> Picture | None:
    found = mappings(facts.get("timings"))
    if not found:
        return None
    named = [(text(entry.get("step")), [number(entry.get("seconds"))]) for entry in found]
    total = sum(spent or 0.0 for _, (spent,) in named)
    longest = max(named, key=lambda pair: pair[1][0] or 0.0)
    return Picture(
        title="Where the time went",
        plot=bar_chart(named, [(AFTER, "")], seconds),
        alt=f"Time by step, {seconds(total)} in all; most of it, {seconds(longest[1][0])}, for {longest[0]}.",
        note=f"{seconds(total)} in all, by the clock on the wall.",
        wide=True,
        table=Table(
            head=["Step", "Time", "Processor time"],
            rows=[
                [text(entry.get("step")), seconds(entry.get("seconds")), seconds(entry.get("cpu_seconds"))]
                for entry in found
            ],
        ),
    )
