"""The columns: what is known of each, and what happened to it."""

from __future__ import annotations

from typing import Any

from sfumato.report.plots import Number
from sfumato.report.reading import Facts, columns_of, counted, mapping, mappings, measurement, number, text
from sfumato.report.wording import UNKNOWN, count, listed, plural, share

TITLE = "The columns"
DIFFER = (
    "Figures of a column differ by what they count. Generalized: {} whose label is no single value. Detail lost: how "
    "much of the column's domain its labels leave open, on average. Moved: by what share of {} the distribution is "
    "off when a label is read evenly over the values that occur, where what is too much in one place may make up for "
    "what is too little in another. Of randomized columns that is not what an analyst computes back."
)


def content(facts: Facts) -> dict[str, Any] | None:
    """Return what is known of each column and what happened to it."""
    found = mappings(facts.get("columns"))
    if not found:
        return None
    kept, ncp, masked, moved = (
        {text(entry.get("name")): entry for entry in columns_of(facts, name)}
        for name in ("suppression", "ncp", "masked-detail", "column-distributions")
    )
    lost = ncp | masked
    rows, what = _published(facts), counted(facts)
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
                "fate": _fate(entry, kept.get(text(entry.get("name"))), rows, what),
                "lost": share(mapping(lost.get(text(entry.get("name")))).get("loss")),
                "moved": share(mapping(moved.get(text(entry.get("name")))).get("moved")),
            }
            for entry in found
        ],
        "why": DIFFER.format(what, what) if moved else "",
        "spelling": _spelling(mapping(facts.get("knowledge"))),
        "merged": _merged(mapping(facts.get("spellings"))),
    }


def _merged(spellings: Facts) -> list[dict[str, str]]:
    """Return the values of which several spellings were read as one."""
    return [
        {"column": text(name), "kept": f"“{kept}”", "others": ", ".join(f"“{text(other)}”" for other in others)}
        for name, values in spellings.items()
        for kept, others in mapping(values).items()
    ]


def _spelling(known: Facts) -> dict[str, Any] | None:
    """Return the terms that the knowledge table does not know, as they are spelled."""
    rows = [
        {
            "term": text(entry.get("term")),
            "records": count(entry.get("records")),
            "nearest": text(entry.get("nearest")) or UNKNOWN,
        }
        for entry in mappings(known.get("unknown"))
    ]
    if not rows:
        return None
    several, near = number(known.get("unknown_terms")) or len(rows), number(known.get("near")) or 0
    return {
        "sentence": f"The knowledge table does not know {plural(several, 'term')} of {text(known.get('column'))}; "
        f"{count(near)} of them {'is' if near == 1 else 'are'} spelled nearly like one that it knows."
        + (f" The {len(rows)} most frequent:" if several > len(rows) else ""),
        "rows": rows,
    }


def _published(facts: Facts) -> Number:
    """Return of how many rows, or people where these are counted, cells were compared."""
    compared = mapping(measurement(facts, "suppression").get("facts"))
    return number(compared.get("rows")) or number(mapping(facts.get("release")).get("rows"))


def _fate(entry: Facts, kept: Facts | None, rows: Number, what: str) -> str:
    if entry.get("dropped") is True:
        return "dropped"
    if entry.get("role") == "other":
        return "carried along as it is"
    if kept is None:
        return UNKNOWN
    if drawn := mapping(kept.get("randomized")):
        values, true = plural(drawn.get("values"), "value"), f"with the true one in {share(drawn.get('true'))}"
        return f"randomized: {count(drawn.get('shown'))} of {values} shown, {true} of {what}"
    if number(kept.get("items_before")) is not None:
        before, after = number(kept.get("items_before")) or 0, number(kept.get("items")) or 0
        return "kept" if after >= before else f"{count(before - after)} of {plural(before, 'item')} withheld"
    generalized, replaced = number(kept.get("generalized")) or 0, number(kept.get("replaced")) or 0
    words = []
    if generalized:
        words.append(f"generalized in {share(generalized / rows)} of {what}" if rows else "generalized")
    if replaced:
        words.append(f"at least {plural(replaced, 'cell')} replaced")
    return listed(words) or "kept"
