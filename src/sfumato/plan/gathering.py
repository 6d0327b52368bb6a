"""What a plan says of people with several rows: whose row each is, and how the rows of a person become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sfumato.data.files import Source
from sfumato.data.gathering import Events, Gather, Gathered, How
from sfumato.data.schema import ColumnSpec, Role
from sfumato.errors import did_you_mean
from sfumato.plan.keys import EVENTS, GATHER
from sfumato.plan.notes import Notes, kind_of

MakeSource: TypeAlias = Callable[[Mapping[str, Any], str], Source | None]  # from the keys of a table, at a place
EXAMPLE = '{ diagnoses = { set = "diagnosis" }, weight = "last", stays = "count" }'


def gather_of(
    document: Mapping[str, Any],
    person: str | None,
    columns: dict[str, ColumnSpec],
    make_source: MakeSource,
    numbered: bool,
    notes: Notes,
) -> Gather | None:
    """Return how rows are gathered, None when nothing is said of people or all their rows stay.

    Their number becomes an identifier; where all rows stay, a new one is published in its place.
    """
    given = notes.table(document, "gather")
    values = notes.values(given, GATHER, "gather")
    gathered = _columns(values["columns"], "gather.columns", notes)
    events = _events(values["events"], person or "", make_source, notes)
    if person is None:
        if "gather" in document:
            notes.add("source.person", '[gather] needs to know whose row each is: [source] person = "patient_id".')
        if numbered:
            asked = '[release] persons = "numbered" needs to know whose row each is: [source] person = "patient_id".'
            notes.add("source.person", asked)
        return None
    if numbered and "gather" in document:
        asked = (
            '[release] persons = "numbered" keeps all rows of a person, and [gather] makes one of them. Leave one out.'
        )
        notes.add("release.persons", asked)
        numbered = False
    spec = columns.setdefault(person, ColumnSpec(name=person, role=Role.IDENTIFIER))
    if spec.role is not Role.IDENTIFIER:
        notes.add(
            f"columns.{person}.role",
            f"column {person!r} says whose row it is, so it names people. Its role must be identifier.",
        )
    if numbered:
        columns[person] = ColumnSpec(name=person, role=Role.OTHER)
        return None
    return Gather(
        person=person,
        together="gather" in document,
        columns=gathered,
        order=values["order"],
        events=events,
    )


def _events(given: Any, person: str, make_source: MakeSource, notes: Notes) -> tuple[Events, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or not all(isinstance(table, Mapping) for table in given):
        notes.add("gather.events", "[[gather.events]] must be a list of tables, each with path and columns.")
        return ()
    found = []
    for position, table in enumerate(given, start=1):
        place = f"gather.events[{position}]"
        values = notes.values(table, EVENTS, place)
        columns = _columns(values["columns"], f"{place}.columns", notes)
        source = make_source(values, place)
        if source is None:
            if not values["database"]:
                notes.add(place, f"[{place}] needs 'path', or 'database' and 'table'.")
            continue
        if source.database is None:
            notes.files[f"{place}.path"] = source.path
        whose = values["person"] or person
        found.append(Events(source=source, person=whose, order=values["order"], columns=columns))
    return tuple(found)


def _columns(given: Any, place: str, notes: Notes) -> tuple[Gathered, ...]:
    """Return the columns to make: `zip = "last"`, or of another column `codes = { set = "code" }`."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        notes.add(place, f"[{place}] must be a table such as {EXAMPLE}, not {kind_of(given)}.")
        return ()
    found = []
    for name, value in given.items():
        if isinstance(value, Mapping) and len(value) == 1:
            how, column = next(iter(value.items()))
        else:
            how, column = value, None if value == How.COUNT else name
        if how not in list(How):
            near = did_you_mean(str(how), list(How))
            notes.add(f"{place}.{name}", f"[{place}] {name} is none of {', '.join(How)}.{near} Such as {EXAMPLE}.")
        elif column is not None and not (isinstance(column, str) and column):
            notes.add(f"{place}.{name}", f"[{place}] {name} must name a column, not {kind_of(column)}.")
        else:
            found.append(Gathered(name=name, how=How(how), column=column))
    return tuple(found)
