"""Pictures of a sweep: each loss, and who is exposed, against strictness and against each setting; the reader chooses.

Every loss has its own frontier and knee. One that falls when strictness rises is no price of it, and is not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from sfumato.report.plots import Table
from sfumato.report.reading import Facts, mapping, mappings, number, sequence, text
from sfumato.report.scatter import Point, scatter
from sfumato.report.wording import UNKNOWN, amount, count, figure, listed, share, shortened

MOST_LOSSES = 5  # side by side in a table, and to choose from
MOST_SETTINGS = 4
LOOKS = {"is-knee": "the knee", "is-frontier": "on the frontier", "is-dominated": "beaten by another"}


class Loss(TypedDict):
    """What is drawn upwards."""

    name: str
    title: str
    unit: str
    better: str
    frontier: Sequence[int]  # places of combinations, loosest first
    knee: int | None


@dataclass(frozen=True, eq=False)
class Across:
    """What is drawn from left to right."""

    title: str
    note: str
    at: Callable[[Facts], float | None]
    ticks: Sequence[float] | None
    show: Callable[[Any], str]
    strictness: bool = False


def name_of(cell: Facts) -> str:
    """Return a combination as `k=5, t=0.3`."""
    return ", ".join(f"{name}={written(value)}" for name, value in mapping(cell.get("values")).items())


def written(value: object) -> str:
    """Return a value of a setting as it is asked for."""
    return str(value).lower() if isinstance(value, bool) else text(value)


def shown_losses(facts: Facts) -> list[Loss]:
    """Return the losses worth a column, the one that was taken first: main ones that strictness does not improve."""
    taken = text(mapping(facts.get("loss")).get("name"))
    entries = mappings(facts.get("losses"))
    wanted = [
        entry
        for entry in entries
        if text(entry.get("name")) == taken or (entry.get("main") is True and not entry.get("falls"))
    ]
    return [
        Loss(
            name=text(entry.get("name")),
            title=text(entry.get("title")),
            unit=text(entry.get("unit")),
            better=text(entry.get("better")),
            frontier=[place for place in sequence(entry.get("frontier")) if isinstance(place, int)],
            knee=knee if isinstance(knee := entry.get("knee"), int) else None,
        )
        for entry in wanted[:MOST_LOSSES]
    ]


def value_of(loss: Loss, cell: Facts) -> float | None:
    """Return how much a combination loses."""
    found = (entry for entry in mappings(cell.get("measurements")) if text(entry.get("name")) == loss["name"])
    return number(next(found, {}).get("value"))


def value_shown(loss: Loss, cell: Facts) -> str:
    """Return how much a combination loses, in words."""
    return amount(value_of(loss, cell), loss["unit"])


def most_exposed(cell: Facts) -> Facts:
    """Return the attack that exposes the largest share of people: of those that a requirement speaks of, if any."""
    tried = mappings(cell.get("attacks"))
    return max([attack for attack in tried if attack.get("promised")] or tried, key=_share_exposed, default={})


def _share_exposed(attack: Facts) -> float:
    return (number(attack.get("exposed")) or 0.0) / (number(attack.get("people")) or 1.0)


def exposed_words(cell: Facts) -> str:
    """Return how many people the attack exposes that exposes most."""
    most = most_exposed(cell)
    return share(_share_exposed(most)) if most else UNKNOWN


def css_of(loss: Loss, place: int) -> str:
    """Return the look of a combination among those of one loss."""
    return "is-knee" if place == loss["knee"] else "is-frontier" if place in loss["frontier"] else "is-dominated"


def axes(facts: Facts) -> dict[str, Any] | None:
    """Return what can be chosen upwards and across, and a picture for each pair."""
    cells = mappings(facts.get("cells"))
    places = [place for place, cell in enumerate(cells) if cell.get("holds")]
    losses = shown_losses(facts)
    if not places or not losses:
        return None
    if any(mappings(cells[place].get("attacks")) for place in places):
        exposed = Loss(name="", title="Most people exposed", unit="share", better="lower", frontier=(), knee=None)
        losses = [*losses, exposed]
    across = [_strictness(facts)]
    for setting in mappings(facts.get("settings"))[:MOST_SETTINGS]:
        values = [
            value
            for value in sequence(setting.get("values"))
            if any(mapping(cells[place].get("values")).get(text(setting.get("name"))) == value for place in places)
        ]
        if len(values) > 1:
            across.append(_setting(text(setting.get("name")), values))
    return {
        "up": [loss["title"] for loss in losses],
        "across": [axis.title for axis in across],
        "pictures": [
            {"up": up, "across": at, **_picture(cells, places, loss, axis)}
            for up, loss in enumerate(losses)
            for at, axis in enumerate(across)
        ],
    }


def _strictness(facts: Facts) -> Across:
    varied = [entry for entry in mappings(facts.get("requirements")) if entry.get("varied")]
    about = listed([text(entry.get("model")) for entry in varied or mappings(facts.get("requirements"))])
    return Across(
        title="strictness",
        note=f"Strictness is what the audits of {about} found, from 0 to 1 within this sweep. A combination is on the "
        "frontier if none that is at least as strict loses less.",
        at=lambda cell: number(cell.get("strictness")),
        ticks=(0.0, 0.5, 1.0),
        show=lambda value: {0.0: "loosest", 1.0: "strictest"}.get(number(value) or 0.0, ""),
        strictness=True,
    )


def _setting(name: str, values: Sequence[Any]) -> Across:
    """Return an axis of one setting; words are set out side by side."""
    numbers = [found for value in values if (found := number(value)) is not None]
    numeric = len(numbers) == len(values)
    spread_out = numeric and min(numbers) > 0 and max(numbers) >= 8 * min(numbers)

    def place_of(value: Any) -> float:
        if not numeric:
            return float(values.index(value))
        found = number(value) or 0.0
        return math.log(found) if spread_out else found

    return Across(
        title=name,
        note="Each dot is a combination; those above one another differ in the other settings."
        + (" Each step across is a factor." if spread_out else ""),
        at=lambda cell: place_of(mapping(cell.get("values")).get(name)),
        ticks=[place_of(value) for value in values],
        show=lambda place: next((written(value) for value in values if place_of(value) == place), ""),
    )


def _picture(cells: Sequence[Facts], places: Sequence[int], loss: Loss, axis: Across) -> dict[str, Any]:
    def up(cell: Facts) -> float | None:
        return value_of(loss, cell) if loss["name"] else _share_exposed(most_exposed(cell))

    drawn = [place for place in places if up(cells[place]) is not None and axis.at(cells[place]) is not None]
    spot = {place: (axis.at(cells[place]) or 0.0, up(cells[place]) or 0.0) for place in drawn}
    through = [spot[place] for place in loss["frontier"] if place in spot] if axis.strictness else []
    said = {place: f"{name_of(cells[place])}: {amount(spot[place][1], loss['unit'])}" for place in drawn}
    better = f" ({loss['better']} is better)" if loss["better"] else ""
    looks = {css_of(loss, place) for place in drawn}
    return {
        "title": f"{loss['title']} against {axis.title}",
        "note": axis.note,
        "plot": scatter(
            [
                Point(
                    x=spot[place][0],
                    y=spot[place][1],
                    css=css_of(loss, place),
                    title=f"{said[place]}; {_learned(cells[place])}",
                    label=shortened(f"knee: {name_of(cells[place])}", 40) if place == loss["knee"] else "",
                )
                for place in drawn
            ],
            through,
            x_title=axis.title,
            y_title=f"{loss['title']}{better}",
            show_y=lambda value: amount(value, loss["unit"]),
            x_ticks=axis.ticks,
            show_x=axis.show,
        ),
        "alt": f"{loss['title']} against {axis.title}. {'; '.join(said[place] for place in drawn[:40])}.",
        "legend": [(css, word) for css, word in LOOKS.items() if css in looks] if loss["name"] else [],
        "table": Table(
            head=["Combination", "Strictness", loss["title"]],
            rows=[
                [name_of(cells[place]), figure(cells[place].get("strictness")), amount(spot[place][1], loss["unit"])]
                for place in drawn
            ],
        ),
    }


def _learned(cell: Facts) -> str:
    """Return who can still be learned about."""
    most = most_exposed(cell)
    if not most:
        return "no attack was tried"
    exposed = f"{count(most.get('exposed'))} of {count(most.get('people'))}"
    return f"exposed {exposed} ({text(most.get('title') or most.get('attack'))})"
