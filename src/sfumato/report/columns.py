"""The columns: what is known of each, and what happened to it."""

from __future__ import annotations

from typing import Any

from sfumato.report.plots import Number
from sfumato.report.reading import Facts, columns_of, mapping, mappings, number, text
from sfumato.report.wording import UNKNOWN, count, listed, plural, share

TITLE = "The columns"


def content(facts: Facts) -> dict[str, Any] | None:
    """Return what is known of each column and what happened to it."""
    found = mappings(facts.get("columns"))
    if not found:
        return None
    kept = {text(entry.get("name")): entry for entry in columns_of(facts, "suppression")}
    rows = number(mapping(facts.get("release")).get("rows"))
    dropped = sum(entry.get("dropped") is True for entry in found)
    gone = f"; {'it is' if dropped == 1 else 'they are'} not in the release" if dropped else ""
    identifiers = f", {plural(dropped, 'of them an identifier', 'of them identifiers')}{gone}" if dropped else ""
    return {
        "sentence": f"The table has {plural(len(found), 'column')}{identifiers}.",
        "unknown": UNKNOWN,
        "inferred": any(entry.get("kind_inferred") is True for entry in found),
        "rows": [
            {
                "name": text(entry.get("name")),
                "role": text(entry.get("role")) or UNKNOWN,
                "kind": (text(entry.get("kind")) or UNKNOWN) + (" (inferred)" if entry.get("kind_inferred") else ""),
                "distinct": count(entry.get("values")),
                "missing": count(entry.get("missing")),
                "levels": count(entry.get("levels")),
                "fate": _fate(entry, kept.get(text(entry.get("name"))), rows),
            }
            for entry in found
        ],
    }


def _fate(entry: Facts, kept: Facts | None, rows: Number) -> str:
    if entry.get("dropped") is True:
        return "dropped"
    if entry.get("role") == "other":
        return "carried along as it is"
    if kept is None:
        return UNKNOWN
    if number(kept.get("items_before")) is not None:
        before, after = number(kept.get("items_before")) or 0, number(kept.get("items")) or 0
        return "kept" if after >= before else f"{count(before - after)} of {plural(before, 'item')} withheld"
    generalized, replaced = number(kept.get("generalized")) or 0, number(kept.get("replaced")) or 0
    words = []
    if generalized:
        words.append(f"generalized in {share(generalized / rows)} of rows" if rows else "generalized")
    if replaced:
        words.append(f"at least {plural(replaced, 'cell')} replaced")
    return listed(words) or "kept"
