"""A sweep on a page and in a terminal: what each combination costs, and which ones are worth a look."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.report.page import environment, harmless
from sfumato.report.plots import Table
from sfumato.report.reading import Facts, mapping, mappings, number, sequence, text
from sfumato.report.trade import Loss, axes, css_of, exposed_words, name_of, shown_losses, value_shown
from sfumato.report.trade import written as _written
from sfumato.report.wording import UNKNOWN, amount, count, figure, plain, plural, seconds

WIDTH = 80  # where nobody says how wide the terminal is
MOST_LINES = 30
LONGEST_NAME = 30  # of a combination, which else has a line of its own
GAP = 2  # between two columns


def render_sweep(facts: Mapping[str, Any]) -> str:
    """Return the page of a sweep from its facts (sweep.json)."""
    cells = mappings(facts.get("cells"))
    good = any(cell.get("holds") for cell in cells)
    page = environment().get_template("sweep.html")
    shown = page.render(
        title="Sweep · sfumato",
        version=text(mapping(facts.get("versions")).get("sfumato")),
        good=good,
        stamp="Explored" if good else "Nothing holds",
        sentence=headline(facts),
        keys=_keys(facts, cells),
        trade=axes(facts),
        no_prices=[text(loss.get("title")) for loss in mappings(facts.get("losses")) if loss.get("falls")],
        table=_table(facts, cells),
        details=_details(cells),
        failures=[
            {"name": name_of(cell), "reason": text(cell.get("reason"))} for cell in cells if not cell.get("holds")
        ],
        again=_again(facts),
    )
    return harmless(shown)


def sweep_text(facts: Mapping[str, Any], width: int = WIDTH) -> str:
    """Return the outcome and its combinations, at most thirty of them, for a terminal of this many columns."""
    cells = mappings(facts.get("cells"))
    lines = textwrap.wrap(headline(facts), width)
    shown = cells if len(cells) <= MOST_LINES else [cell for cell in cells if cell.get("frontier")][:MOST_LINES]
    losses: list[Loss] = []
    if shown:
        names = min(max(len("combination"), *(len(name_of(cell)) for cell in shown)), LONGEST_NAME)
        columns = [_column("exposed", [exposed_words(cell) if cell.get("holds") else "" for cell in shown])]
        for loss in shown_losses(facts):
            column = _column(loss["title"], [value_shown(loss, cell) + _mark(loss, cell, cells) for cell in shown])
            if losses and names + sum(GAP + len(head) for head, *_ in (*columns, column)) > width:
                break
            losses.append(loss)
            columns.insert(-1, column)
        head, *rows = zip(*columns, strict=True)
        lines += ["", _line("combination", head, names)]
        for cell, row in zip(shown, rows, strict=True):
            name = name_of(cell)
            if len(name) > names:
                lines.append(name)
                name = ""
            lines.append(_line(name, row if cell.get("holds") else ("cannot be met",), names))
    if any(loss["frontier"] for loss in losses):
        lines.append("* none that is at least as strict loses less; ! the knee")
    if len(shown) < len(cells):
        lines.append(f"and {len(cells) - len(shown)} more, in the table and on the page")
    return "\n".join(lines).replace(UNKNOWN, "-")


def _column(head: str, values: Sequence[str]) -> list[str]:
    """Return a column with its head, all as wide as the widest."""
    widest = max(map(len, (head, *values)))
    return [value.ljust(widest) for value in (head, *values)]


def _line(name: str, values: Sequence[str], names: int) -> str:
    return (" " * GAP).join((name.ljust(names), *values)).rstrip()


def _mark(loss: Loss, cell: Facts, cells: Sequence[Facts]) -> str:
    place = next(place for place, other in enumerate(cells) if other is cell)
    return "!" if place == loss["knee"] else "*" if place in loss["frontier"] else ""


def headline(facts: Facts) -> str:
    """Return the outcome in one sentence or two.

    >>> headline({"cells": [{"holds": False}, {"holds": False}]})
    'None of 2 combinations can be met.'
    """
    cells = mappings(facts.get("cells"))
    holding = [cell for cell in cells if cell.get("holds")]
    if not holding:
        return f"None of {plural(len(cells), 'combination')} can be met."
    many = "All" if len(holding) == len(cells) else f"{count(len(holding))} of"
    said = f"{many} {plural(len(cells), 'combination')} can be met"
    loss = mapping(facts.get("loss"))
    if not loss:
        return f"{said}; nothing that was measured gets worse with strictness."
    what = text(loss.get("title")).lower()
    if (bend := next((cell for cell in holding if cell.get("knee")), None)) is not None:
        lost = amount(bend.get("loss"), text(loss.get("unit")))
        return f"{said}; by {what}, the knee is at {name_of(bend)}: {lost}."
    return f"{said}; by {what}, the frontier has no clear knee."


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


def _table(facts: Facts, cells: Sequence[Facts]) -> dict[str, Any]:
    """Return every combination with what it loses and how many people it exposes."""
    losses = shown_losses(facts)
    settings = [text(setting.get("name")) for setting in mappings(facts.get("settings"))]
    rows = []
    for place, cell in enumerate(cells):
        holds = bool(cell.get("holds"))
        standing = "knee" if cell.get("knee") else "yes" if cell.get("frontier") else "no"
        rows.append(
            {
                "css": css_of(losses[0], place) if losses and holds else "",
                "standing": standing if holds else "cannot be met",
                "values": [_written(mapping(cell.get("values")).get(name)) for name in settings],
                "cells": [
                    *(f"{value_shown(loss, cell)}{'*' if place in loss['frontier'] else ''}" for loss in losses),
                    exposed_words(cell) if holds else UNKNOWN,
                    seconds(cell.get("seconds")),
                ],
            }
        )
    return {"settings": settings, "head": [*(loss["title"] for loss in losses), "Most exposed", "Time"], "rows": rows}


def _details(cells: Sequence[Facts]) -> Table | None:
    """Return what every combination that holds reached, and how many people each attack exposes."""
    holding = [cell for cell in cells if cell.get("holds")]
    if not holding:
        return None
    verdicts = [_verdict_title(verdict) for verdict in mappings(holding[0].get("verdicts"))]
    rows = []
    for cell in holding:
        name = name_of(cell)
        for title, verdict in zip(verdicts, mappings(cell.get("verdicts")), strict=False):
            rows.append([name, f"{title}, reached", figure(verdict.get("reached"))])
        for attack in mappings(cell.get("attacks")):
            title = text(attack.get("title") or attack.get("attack"))
            rows.append([name, f"Exposed: {title}", count(attack.get("exposed"))])
    return Table(head=["Combination", "What", "Figure"], rows=rows)


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
