"""What masks hide, and from whom: facts that only the holder of the original can have."""

from __future__ import annotations

from typing import Any

from sfumato.report.plots import Table
from sfumato.report.reading import NOTHING, Facts, counted, mapping, mappings, number, text
from sfumato.report.wording import count, plural, share

TITLE = "What masks hide"
READINGS = (
    ("pool", "knows what is really behind each label of a class"),
    ("true", "knows the true values of everybody in a sensitive equivalence class, but not who has which"),
)


def content(facts: Facts) -> dict[str, Any] | None:
    """Return what became of sensitive values, and what stronger intruders than the requirement's would believe."""
    found = _said(facts)
    if not found:
        return None
    rows = number(mapping(facts.get("release")).get("rows"))
    worst = mapping(found.get("worst_posterior"))
    vacuous, masked = seen_through(facts)
    sentences = [
        f"{plural(found.get('masked_values'), 'sensitive value is', 'sensitive values are')} shown as a coarser label. "
        f"{count(found.get('vacuous_masked_values'))} of them ({share(vacuous / masked if masked else 0)}) "
        "carry a label that hides a single true value in its class: against somebody who knows that, such a mask hides "
        "nothing. `avoid_vacuous = true` avoids them where it can.",
        "The requirement speaks of an intruder who takes a label for the values below it, by how common they are (or "
        "evenly). These know more; nobody but you can compute what they would believe:",
    ]
    return {
        "sentences": sentences,
        "stronger": [f"Who {words}: up to {share(worst.get(key))}." for key, words in READINGS if key in worst],
        "table": Table(
            head=["Column", "Masked", f"Share of {counted(facts)}", "Hiding one value only"],
            rows=[
                [
                    text(entry.get("name")),
                    count(entry.get("masked")),
                    share((number(entry.get("masked")) or 0) / rows if rows else None),
                    count(entry.get("vacuous")),
                ]
                for entry in mappings(found.get("columns"))
            ],
        ),
    }


def seen_through(facts: Facts) -> tuple[float, float]:
    """Return how many masks hide a single true value, and how many masks there are."""
    said = _said(facts)
    return number(said.get("vacuous_masked_values")) or 0.0, number(said.get("masked_values")) or 0.0


def _said(facts: Facts) -> Facts:
    """Return what the step that masked values has to say; nothing where none did."""
    steps = [mapping(step.get("facts")) for step in mappings(facts.get("steps"))]
    return next((said for said in reversed(steps) if "masked_values" in said), NOTHING)
