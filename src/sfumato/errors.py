"""All errors of sfumato.

SfumatoError                 exit code 3: a bug, unless one of those below
├── InputError               exit code 2: the plan or the data is wrong
│   ├── PlanError            the plan cannot be understood; carries every problem found, not only the first
│   ├── PolicyError          a model's or an anonymizer's parameter is out of range
│   ├── DataError            the table cannot be read, or does not fit the plan
│   ├── HierarchyError       a hierarchy is incomplete, ambiguous or broken
│   ├── EditError            a plan cannot be changed at that place
│   ├── Conflict             a plan has changed since it was opened: it is not written over
│   └── OutputError          the output folder exists or cannot be written
├── Unsatisfiable            exit code 1: a requirement does not hold and cannot be made to hold
└── Stopped                  exit code 130: somebody wanted the work to end before it was done

SfumatoWarning               a warning of a run, for Python's `warnings`; commands print these sentences themselves

A message has three short parts: what was asked, what was found, what to do. Messages name columns and counts,
never values of identifying or sensitive columns: traces travel.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar


class SfumatoError(Exception):
    """The root of every error that sfumato raises on purpose."""

    exit_code: ClassVar[int] = 3


class SfumatoWarning(UserWarning):
    """A warning about a run that succeeded: filter it with Python's `warnings`, or read `run.warnings`."""


class InputError(SfumatoError):
    """The plan or the data is wrong."""

    exit_code: ClassVar[int] = 2


@dataclass(frozen=True)
class Problem:
    """What is wrong, and where: `columns.age.hierarchy`, `require[2].k` (the second one), "" for the plan as a whole.

    A member that speaks of its own table begins the place with a dot, as it does not know where that table stands.
    """

    place: str
    text: str

    def within(self, place: str) -> Problem:
        """Return the problem of a member whose table stands at a place.

        >>> Problem(".k", "it is too small").within("require[2]").place
        'require[2].k'
        >>> Problem(".", "it is too small").within("require[2]").place
        'require[2]'
        """
        return replace(self, place=(place + self.place).rstrip(".")) if self.place.startswith(".") else self

    def __str__(self) -> str:
        return self.text


class PlanError(InputError):
    """The plan has one or more problems; all of them are listed."""

    def __init__(self, problems: Iterable[Problem], where: str = "The plan") -> None:
        self.problems = tuple(problems)
        self.where = where
        count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n".join([f"{where} has {count}:", *(f"- {problem}" for problem in self.problems)]))

    def __reduce__(self) -> tuple[type[PlanError], tuple[tuple[Problem, ...], str]]:
        """Return how it is made again in another process."""
        return type(self), (self.problems, self.where)


class PolicyError(InputError):
    """A parameter is out of range; `at` names it where that is not plain to see."""

    def __init__(self, message: str, at: str = "") -> None:
        self.at = at
        super().__init__(message)


class DataError(InputError):
    """The table cannot be read or does not fit the plan."""


class HierarchyError(InputError):
    """A hierarchy is incomplete, ambiguous or broken."""


class OutputError(InputError):
    """The output folder exists already or cannot be written."""


class EditError(InputError):
    """A place of a plan cannot be, or is written in a way that cannot be changed piece by piece."""


class Conflict(InputError):  # noqa: N818 - says what is the case, not that something went wrong
    """A file has changed since it was opened; both texts are at hand, and the file is left as it is."""

    def __init__(self, name: str, ours: str, theirs: str | None) -> None:
        self.name, self.ours, self.theirs = name, ours, theirs
        found = "was changed by somebody else" if theirs is not None else "was deleted or moved"
        super().__init__(
            f"{name} was to be saved, but it {found} since it was opened.\nNothing was written. Choose one of the two."
        )

    def __reduce__(self) -> tuple[type[Conflict], tuple[str, str, str | None]]:
        """Return how it is made again in another process."""
        return type(self), (self.name, self.ours, self.theirs)


class Unsatisfiable(SfumatoError):  # noqa: N818 - says what is the case, not that something went wrong
    """A requirement does not hold and no release can meet it."""

    exit_code: ClassVar[int] = 1


class Stopped(SfumatoError):  # noqa: N818 - says what is the case, not that something went wrong
    """Somebody wanted the work to end before it was done."""

    exit_code: ClassVar[int] = 130


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known word, or the list of all when none is near.

    >>> did_you_mean("quasi-identifer", ["quasi-identifier", "sensitive"])
    " Did you mean 'quasi-identifier'?"
    >>> did_you_mean("colour", ["k", "l"])
    " Known: 'k', 'l'."
    """
    known = sorted(str(name) for name in known)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" Known: {', '.join(repr(name) for name in known)}."
