"""Groups made by hand: values are moved into groups, groups into others, renamed, split and undone, step by step.

Values and groups share their names: a reader of a release could not tell a group from a value that is called the same.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sfumato.data.hierarchy import ROOT
from sfumato.errors import PolicyError

ABOVE = ">"  # between a group and the one that it belongs to
_LONGEST = 200  # characters of a name
_KEPT = 20  # steps that can be undone
_MOST = 500_000  # characters that these may take


@dataclass(frozen=True)
class Group:
    """A group with what is in it, as it is shown."""

    name: str
    number: int  # among all groups
    values: tuple[str, ...]  # directly in it
    groups: tuple[Group, ...]
    size: int  # values in it, at any depth
    rows: int


@dataclass(frozen=True)
class Grouping:
    """The values of a column with how many rows have each, and what each value and each group is in."""

    rows: Mapping[str, int]
    above: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        held: dict[str, str] = {}
        for value in self.rows:  # groups that hold no value are gone
            name = value
            while name in self.above and name not in held:
                held[name] = self.above[name]
                name = held[name]
        object.__setattr__(self, "above", held)

    # What there is.

    @property
    def groups(self) -> list[str]:
        """All groups, in the order of their names."""
        return sorted(set(self.above.values()), key=lambda name: (name.casefold(), name))

    @property
    def alone(self) -> list[str]:
        """The values that are in no group yet."""
        return [value for value in self.rows if value not in self.above]

    @property
    def numbers(self) -> dict[str, int]:
        """The place of each value among all."""
        return {value: number for number, value in enumerate(self.rows)}

    def path(self, name: str) -> list[str]:
        """Return the groups that something is in, the smallest first."""
        found: list[str] = []
        while name in self.above:
            found.append(name := self.above[name])
        return found

    def tree(self) -> tuple[Group, ...]:
        """Return the groups that are in no other, each with what is in it."""
        numbers = {name: number for number, name in enumerate(self.groups)}
        below: dict[str, list[str]] = {}
        for name, group in self.above.items():
            below.setdefault(group, []).append(name)

        def made(name: str) -> Group:
            values = tuple(value for value in self.rows if self.above.get(value) == name)
            groups = tuple(made(each) for each in sorted(below[name], key=str.casefold) if each in numbers)
            size = len(values) + sum(each.size for each in groups)
            rows = sum(self.rows[value] for value in values) + sum(each.rows for each in groups)
            return Group(name, numbers[name], values, groups, size, rows)

        return tuple(made(name) for name in self.groups if name not in self.above)

    @property
    def text(self) -> str:
        r"""The file of it: one line a value.

        >>> Grouping({"Bern": 3, "Chur": 1}, {"Bern": "West", "West": "Swiss"}).text
        'Bern;West;Swiss;*\nChur;*\n'
        """
        lines = io.StringIO()
        writer = csv.writer(lines, delimiter=";", lineterminator="\n")
        writer.writerows([value, *self.path(value), ROOT] for value in self.rows)
        return lines.getvalue()

    # What can be done.

    def moved(self, names: Collection[str], into: str) -> Grouping:
        """Return it with values and groups in a group, which may be new; `heart > organs` names the one above, too."""
        chosen = self._chosen(names)
        if not chosen:
            raise PolicyError("Nothing is ticked.\nTick the values, or the groups, that shall go there.")
        path = [into] if into in self.groups else [self._name(each) for each in into.split(ABOVE)]
        above = {**self.above, **dict.fromkeys(chosen, path[0])}
        for group, larger in pairwise(path):
            above[group] = larger
        return self._with(above)

    def taken_out(self, names: Collection[str]) -> Grouping:
        """Return it with values and groups in no group any more."""
        chosen = [name for name in self._chosen(names) if name in self.above]
        if not chosen:
            raise PolicyError("Nothing is ticked that is in a group.\nTick what shall leave its group.")
        return self._with({name: group for name, group in self.above.items() if name not in chosen})

    def renamed(self, group: str, name: str) -> Grouping:
        """Return it with another name for a group."""
        name = self._new(name)
        pairs = ((name if below == group else below, name if it == group else it) for below, it in self.above.items())
        return self._with(dict(pairs))

    def split(self, group: str, names: Collection[str], name: str) -> Grouping:
        """Return it with some of what is in a group in a new one beside it."""
        inside = [each for each, above in self.above.items() if above == group]
        chosen = [each for each in inside if each in names]
        if not chosen or len(chosen) == len(inside):
            raise PolicyError(
                f"{len(chosen)} of {len(inside)} in {group!r} are ticked.\n"
                "Tick some of what is in it, not all: these go into the new group."
            )
        name = self._new(name)
        beside = {name: self.above[group]} if group in self.above else {}
        return self._with({**self.above, **dict.fromkeys(chosen, name), **beside})

    def put_under(self, group: str, name: str) -> Grouping:
        """Return it with a new group between a group and what it was in: one more level."""
        name = self._new(name)
        over = {name: self.above[group]} if group in self.above else {}
        return self._with({**self.above, **over, group: name})

    def dissolved(self, group: str) -> Grouping:
        """Return it without a group: what was in it is in what that was in."""
        up = self.above.get(group)
        inside = [each for each, above in self.above.items() if above == group]
        kept = {each: above for each, above in self.above.items() if above != group and each != group}
        return self._with({**kept, **(dict.fromkeys(inside, up) if up is not None else {})})

    def _chosen(self, names: Collection[str]) -> list[str]:
        """Return what is there of some names; what is in a group that is among them goes with it."""
        known = {name for name in names if name in self.rows or name in self.groups}
        return [name for name in known if known.isdisjoint(self.path(name))]

    def _with(self, above: Mapping[str, str]) -> Grouping:
        return Grouping(self.rows, checked(self.rows, above))

    def _name(self, given: str) -> str:
        name = " ".join(given.split())
        if not name or name == ROOT or ABOVE in name or len(name) > _LONGEST:
            raise PolicyError(f"The group needs a name of up to {_LONGEST} characters.\nName it, such as West.")
        if name in self.rows:
            raise PolicyError(
                f"{name!r} is a value of the column, so nobody could tell the group from it.\n"
                f"Name the group otherwise, such as {name} and others."
            )
        return name

    def _new(self, given: str) -> str:
        name = self._name(given)
        if name in self.groups:
            raise PolicyError(f"There is a group {name!r} already.\nTake another name, or put what is ticked into it.")
        return name


def checked(rows: Mapping[str, int], above: Mapping[str, str]) -> Mapping[str, str]:
    """Return what is in what, once no group is in itself and nothing is in a value."""
    for name in above:
        seen, at = {name}, name
        while at in above:
            at = above[at]
            if at in seen or at in rows:
                raise PolicyError(f"{at!r} cannot be in itself.\nPut it into a group that is not in it.")
            seen.add(at)
    return above


# Steps, as a form carries them.


@dataclass(frozen=True)
class Draft:
    """Groups under way, with the steps that led to them: nothing of it is kept before somebody says so."""

    now: Grouping
    earlier: tuple[tuple[str, Mapping[str, str]], ...] = ()  # what a step did, and how things were before it
    said: str = ""  # of the last step

    @classmethod
    def of(cls, values: Iterable[Sequence[Any]], above: Mapping[str, str]) -> Draft:
        """Return the beginning: values with how many rows have each, and what each is in."""
        return cls(Grouping({str(value): int(rows) for value, rows in values}, above))

    @classmethod
    def read(cls, now: str, earlier: Sequence[str]) -> Draft:
        """Return what a form carried."""
        try:
            found = json.loads(now)
            rows = {str(value): int(count) for value, count in found["rows"].items()}
            steps = tuple((str(words), _pairs(above)) for words, above in map(json.loads, earlier[:_KEPT]))
            made = cls(Grouping(rows, checked(rows, _pairs(found["above"]))), steps)
            made.written.encode("utf-8")
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise PolicyError("The groups did not arrive whole.\nLoad the page again.") from None
        return made

    @property
    def written(self) -> str:
        """The groups as a form carries them."""
        return json.dumps({"rows": self.now.rows, "above": self.now.above}, ensure_ascii=False)

    @property
    def steps(self) -> list[str]:
        """The earlier states as a form carries them, the latest first, as far as there is room."""
        found, room = [], _MOST
        for step in self.earlier[:_KEPT]:
            text = json.dumps(step, ensure_ascii=False)
            room -= len(text)
            if room < 0:
                break
            found.append(text)
        return found

    def after(self, do: str, picked: Collection[str], name: str) -> Draft:
        """Return it after what a button does; `rename.2` is what it does to the group with that number."""
        do, _, number = do.partition(".")
        groups = self.now.groups
        known = number.isascii() and number.isdigit() and len(number) < 6 and int(number) < len(groups)
        group = groups[int(number)] if known else ""
        if do == "undo":
            return self._undone()
        what = repr(*picked) if len(picked) == 1 else str(len(picked))
        if do == "move":
            made, words = self.now.moved(picked, group or name), f"{what} put into {group or name}"
        elif do == "out":
            made, words = self.now.taken_out(picked), f"{what} taken out"
        elif do == "rename" and group:
            made, words = self.now.renamed(group, name), f"{group} renamed {name}"
        elif do == "split" and group:
            made, words = self.now.split(group, picked, name), f"{name} split off from {group}"
        elif do == "level" and group:
            made, words = self.now.put_under(group, name), f"{group} put into {name}"
        elif do == "dissolve" and group:
            made, words = self.now.dissolved(group), f"{group} dissolved"
        else:
            raise PolicyError("That group is not there any more.\nLoad the page again.")
        return Draft(made, ((words, self.now.above), *self.earlier), words)

    def _undone(self) -> Draft:
        if not self.earlier:
            raise PolicyError("There is nothing to undo.\nNo group was changed since the page was opened.")
        (words, above), *rest = self.earlier
        return Draft(Grouping(self.now.rows, checked(self.now.rows, above)), tuple(rest), f"undone: {words}")


def _pairs(given: Any) -> Mapping[str, str]:
    return {str(name): str(group) for name, group in given.items()}
