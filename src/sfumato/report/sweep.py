"""A sweep on a page and in a terminal: what each combination costs, and which ones are worth a look."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sfumato.report.page import environment, harmless
from sfumato.report.plots import Table
from sfumato.report.reading import Facts, main_measurements, mapping, mappings, number, sequence, text
from sfumato.report.scatter import Point, Scatter, scatter
from sfumato.report.wording import UNKNOWN, amount, count, figure, listed, plain, plural, seconds, shortened

WIDTH = 60
MOST_LINES = 30
STAMPS = {True: "Explored", False: "Nothing holds"}


def render_sweep(facts: Mapping[str, Any]) -> str:
    """Return the page of a sweep from its facts (sweep.json)."""
    cells = mappings(facts.get("cells"))
    page = environment().get_template("sweep.html")
    shown = page.render(
        title="Sweep · sfumato",
        version=text(mapping(facts.get("versions")).get("sfumato")),
        good=any(cell.get("holds") for cell in cells),
        stamp=STAMPS[any(bool(cell.get("holds")) for cell in cells)],
        sentence=headline(facts),
        keys=_keys(facts, cells),
        pictures=_pictures(facts, cells),
        table=_table(facts, cells),
        failures=[
            {"name": name_of(cell), "reason": text(cell.get("reason"))} for cell in cells if not cell.get("holds")
        ],
        again=_again(facts),
    )
    return harmless(shown)


def sweep_text(facts: Mapping[str, Any]) -> str:
    """Return the outcome and its combinations, at most thirty of them, for a terminal of 60 columns."""
    cells = mappings(facts.get("cells"))
    loss = mapping(facts.get("loss"))
    lines = textwrap.wrap(headline(facts), WIDTH)
    shown = cells if len(cells) <= MOST_LINES else [cell for cell in cells if cell.get("frontier")][:MOST_LINES]
    if shown:
        lines += ["", f"{'combination':<30}  {text(loss.get('title'))}".rstrip()]
    for cell in shown:
        said = _loss(cell, loss) if cell.get("holds") else "cannot be met"
        mark = {"knee": "  knee", "yes": "  frontier"}.get(_standing(cell), "")
        name = name_of(cell)
        if len(name) > 30:
            lines.append(name)
            name = ""
        lines.append(f"{name:<30}  {said}{mark}")
    if len(shown) < len(cells):
        lines.append(f"and {len(cells) - len(shown)} more, in the table and on the page")
    return "\n".join(lines).replace(UNKNOWN, "-")


def name_of(cell: Facts) -> str:
    """Return a combination as `k=5, t=0.3`."""
    return ", ".join(f"{name}={_written(value)}" for name, value in mapping(cell.get("values")).items())


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else text(value)


def headline(facts: Facts) -> str:
    """Return the outcome in one sentence or two.

    >>> headline({"cells": [{"holds": False}, {"holds": False}]})
    'None of 2 combinations can be met.'
    """
    cells = mappings(facts.get("cells"))
    holding = [cell for cell in cells if cell.get("holds")]
    if not holding:
        return f"None of {plural(len(cells), 'combination')} can be met."
    said = (
        f"All {plural(len(cells), 'combination')} can be met"
        if len(holding) == len(cells)
        else f"{count(len(holding))} of {plural(len(cells), 'combination')} can be met"
    )
    loss = mapping(facts.get("loss"))
    bend = next((cell for cell in holding if cell.get("knee")), None)
    if bend is not None:
        what = text(loss.get("title")).lower()
        return f"{said}; the knee is at {name_of(bend)}, {what} {_loss(bend, loss)}."
    return f"{said}; the frontier has no clear knee."


def _loss(cell: Facts, loss: Facts) -> str:
    return amount(cell.get("loss"), text(loss.get("unit")))


def _keys(facts: Facts, cells: Sequence[Facts]) -> list[tuple[str, str, str]]:
    """Return a few figures: (value, what it is, note)."""
    loss = mapping(facts.get("loss"))
    found = [(count(len(cells)), "combinations tried", f"{sum(bool(cell.get('holds')) for cell in cells)} hold")]
    chosen = [cell for cell in cells if cell.get("frontier")]
    if chosen and loss:
        found.append((count(len(chosen)), "on the frontier", "none loses less at that strictness"))
        values = [value for cell in chosen if (value := number(cell.get("loss"))) is not None]
        if values:
            unit = text(loss.get("unit"))
            low, high = amount(min(values), unit), amount(max(values), unit)
            found.append((low if low == high else f"{low} to {high}", text(loss.get("title")), "on the frontier"))
    return found


def _pictures(facts: Facts, cells: Sequence[Facts]) -> list[dict[str, Any]]:
    holding = [cell for cell in cells if cell.get("holds") and number(cell.get("loss")) is not None]
    loss = mapping(facts.get("loss"))
    if not holding or not loss:
        return []
    pictures = [_frontier_picture(facts, holding, loss)]
    for setting in mappings(facts.get("settings")):
        picture = _setting_picture(setting, holding, loss)
        if picture is not None:
            pictures.append(picture)
    return pictures


def _css(cell: Facts) -> str:
    return "is-knee" if cell.get("knee") else "is-frontier" if cell.get("frontier") else "is-dominated"


def _point(cell: Facts, x: float, loss: Facts) -> Point:
    words = f"{name_of(cell)}: {text(loss.get('title')).lower()} {_loss(cell, loss)}"
    knee = f"knee: {name_of(cell)}" if cell.get("knee") else ""
    return Point(x=x, y=number(cell.get("loss")) or 0.0, css=_css(cell), title=words, label=shortened(knee, 40))


def _frontier_picture(facts: Facts, holding: Sequence[Facts], loss: Facts) -> dict[str, Any]:
    unit = text(loss.get("unit"))
    place = {id(cell): number(cell.get("strictness")) or 0.0 for cell in holding}
    chosen = sorted((cell for cell in holding if cell.get("frontier")), key=lambda cell: place[id(cell)])
    plot = scatter(
        [_point(cell, place[id(cell)], loss) for cell in holding],
        [(place[id(cell)], number(cell.get("loss")) or 0.0) for cell in chosen],
        x_title="strictness",
        y_title=_y_title(loss),
        show_y=lambda value: amount(value, unit),
        x_ticks=(0.0, 0.5, 1.0),
        show_x=lambda value: {0.0: "loosest", 1.0: "strictest"}.get(number(value) or 0.0, ""),
    )
    varied = [entry for entry in mappings(facts.get("requirements")) if entry.get("varied")]
    about = listed([text(entry.get("model")) for entry in varied or mappings(facts.get("requirements"))])
    listing = "; ".join(f"{name_of(cell)} {_loss(cell, loss)}" for cell in chosen)
    return {
        "title": "The frontier",
        "note": f"Strictness is what the audits of {about} found, from 0 to 1 within this sweep. A combination is "
        "on the frontier if none that is at least as strict loses less.",
        "plot": plot,
        "alt": f"{text(loss.get('title'))} against strictness. On the frontier, loosest first: {listing}.",
        "legend": _legend(holding),
        "table": Table(
            head=["Combination", "Strictness", text(loss.get("title")), "Frontier"],
            rows=[
                [name_of(cell), figure(cell.get("strictness")), _loss(cell, loss), _standing(cell)]
                for cell in sorted(holding, key=lambda cell: place[id(cell)])
            ],
        ),
    }


def _legend(holding: Sequence[Facts]) -> list[tuple[str, str]]:
    words = {"is-knee": "the knee", "is-frontier": "on the frontier", "is-dominated": "beaten by another"}
    present = {_css(cell) for cell in holding}
    return [(css, word) for css, word in words.items() if css in present]


def _standing(cell: Facts) -> str:
    return "knee" if cell.get("knee") else "yes" if cell.get("frontier") else "no"


def _y_title(loss: Facts) -> str:
    better = text(loss.get("better"))
    return f"{text(loss.get('title'))}{f' ({better} is better)' if better else ''}"


def _setting_picture(setting: Facts, holding: Sequence[Facts], loss: Facts) -> dict[str, Any] | None:
    """Return the loss against one setting; words are set out side by side."""
    name, unit = text(setting.get("name")), text(loss.get("unit"))
    tried = [mapping(cell.get("values")).get(name) for cell in holding]
    values = [value for value in sequence(setting.get("values")) if value in tried]
    if len(values) < 2:
        return None
    numeric = all(number(value) is not None for value in values)
    spread_out = numeric and min(number(v) or 0.0 for v in values) > 0
    spread_out = spread_out and max(number(v) or 0.0 for v in values) >= 8 * min(number(v) or 1.0 for v in values)

    def at(value: object) -> float:
        if not numeric:
            return float(values.index(value))
        found = number(value) or 0.0
        return math.log(found) if spread_out else found

    plot: Scatter = scatter(
        [replace(_point(cell, at(value), loss), label="") for cell, value in zip(holding, tried, strict=True)],
        x_title=name + (" (each step across is a factor)" if spread_out else ""),
        y_title=_y_title(loss),
        show_y=lambda value: amount(value, unit),
        x_ticks=[at(value) for value in values],
        show_x=lambda place: next((_written(v) for v in values if at(v) == place), ""),
    )
    return {
        "title": f"What {name} costs",
        "note": "Each dot is a combination; those above one another differ in the other settings."
        if len({name_of(cell) for cell in holding}) > len(values)
        else "",
        "plot": plot,
        "alt": f"{text(loss.get('title'))} against {name}. "
        + "; ".join(f"{name_of(cell)} {_loss(cell, loss)}" for cell in holding[:40]),
        "legend": _legend(holding),
        "table": Table(
            head=["Combination", text(loss.get("title"))], rows=[[name_of(cell), _loss(cell, loss)] for cell in holding]
        ),
    }


def _table(facts: Facts, cells: Sequence[Facts]) -> dict[str, Any]:
    """Return every combination with what it reached and what it lost."""
    loss = mapping(facts.get("loss"))
    settings = [text(setting.get("name")) for setting in mappings(facts.get("settings"))]
    holding = [cell for cell in cells if cell.get("holds")]
    verdicts = mappings(holding[0].get("verdicts")) if holding else []
    titles = [_verdict_title(verdict) for verdict in verdicts]
    measured = {text(m.get("name")): m for cell in holding for m in main_measurements(cell)}
    extra = [name for name in measured if name != loss.get("name")]
    attacks = list(dict.fromkeys(text(a.get("attack")) for cell in holding for a in mappings(cell.get("attacks"))))
    rows = []
    for cell in cells:
        by_name = {text(m.get("name")): m for m in mappings(cell.get("measurements"))}
        by_attack = {text(a.get("attack")): a for a in mappings(cell.get("attacks"))}
        reached = [figure(verdict.get("reached")) for verdict in mappings(cell.get("verdicts"))]
        rows.append(
            {
                "css": _css(cell) if cell.get("holds") else "",
                "standing": _standing(cell) if cell.get("holds") else "cannot be met",
                "values": [_written(mapping(cell.get("values")).get(name)) for name in settings],
                "cells": [
                    *(reached or [UNKNOWN] * len(titles)),
                    *([_loss(cell, loss)] if loss else []),
                    *(amount(by_name.get(n, {}).get("value"), text(measured[n].get("unit"))) for n in extra),
                    *(count(by_attack.get(attack, {}).get("exposed")) for attack in attacks),
                    seconds(cell.get("seconds")),
                ],
            }
        )
    return {
        "settings": settings,
        "head": [
            *(f"{title}, reached" for title in titles),
            *([text(loss.get("title"))] if loss else []),
            *(text(measured[name].get("title")) for name in extra),
            *(f"Exposed by {attack}" for attack in attacks),
            "Time",
        ],
        "rows": rows,
    }


def _verdict_title(verdict: Facts) -> str:
    about = plain(verdict.get("sensitive") or verdict.get("column") or "")
    return f"{text(verdict.get('model'))}{f' of {about}' if about else ''}"


def _again(facts: Facts) -> str:
    plan = text(mapping(facts.get("plan")).get("path")) or "PLAN"
    given = " ".join(
        f"--vary {text(setting.get('name'))}={','.join(_written(v) for v in sequence(setting.get('values')))}"
        for setting in mappings(facts.get("settings"))
    )
    return f"sfumato sweep {plan} {given} --out DIR"
