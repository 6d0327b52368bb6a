"""The contract of privacy models: a definition, and an audit that reads nothing but the release and public inputs."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from sfumato.data.dataset import CodedSets
from sfumato.data.hierarchy import ROOT
from sfumato.data.release import Release, ReleasedColumn, n_members
from sfumato.data.schema import Role, Schema
from sfumato.errors import PolicyError, Problem
from sfumato.parameters import Takes, about, check_parameters, parameters_of

# What every requirement on the sensitive values of classes leaves open: the attack `minimality` plays it through.
JOINED = (
    " An attacker who knows the plan and all quasi-identifiers learns from the choice of classes: people with equal "
    "quasi-identifiers and no class of their own probably share sensitive values."
)
CLAIMED = "claimed by the release itself"  # where a public input comes from that nobody else vouches for


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What an audit found. Facts only: the report turns them into sentences, `str` into one line.

    A verdict names columns and counts, never values of a sensitive column. Where nothing was judged, `nothing_to_judge`
    says why, and the requirement counts as not satisfied: nothing was found out about the release.
    """

    model: PrivacyModel
    satisfied: bool
    reached: float | None  # by the worst group, in the unit of `required`; None when there is no group at all
    required: float
    groups: int  # how many groups were judged
    failing: int  # how many of them break the requirement
    failing_rows: int = 0  # how many rows are in them
    facts: Mapping[str, Any] = field(default_factory=dict)
    measure: str = "reached"  # what `reached` is, for people: "smallest class"
    bound: str = "at least"  # how it must stand to `required`: at least, at most, below
    group: str = "group"  # what a group is called: "class"
    known_from: Mapping[str, str] = field(default_factory=dict)  # public input -> where the judge got it from
    notes: tuple[str, ...] = ()  # what whoever reads the verdict should know about its inputs
    finding: str = ""  # in words, where names tell more than figures
    people: bool = False  # whether what is called a row is a person, because rows were put together
    counts_all: bool = False  # whether `reached` is a count in all groups rather than by the worst
    nothing_to_judge: str = ""  # why there was nothing to judge, where nothing fails: "the table has no row"

    def __post_init__(self) -> None:
        if self.satisfied and (self.reached is None or self.nothing_to_judge):
            object.__setattr__(self, "satisfied", False)
            object.__setattr__(self, "nothing_to_judge", self.nothing_to_judge or _NO_GROUP)

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data that JSON can hold; what is infinite becomes None."""
        finite = self.reached is not None and math.isfinite(self.reached)
        return {
            **describe(self.model),
            "columns": list(self.model.judged_columns),
            "satisfied": self.satisfied,
            "reached": self.reached if finite else None,
            "required": self.required,
            "groups": self.groups,
            "failing": self.failing,
            "failing_rows": self.failing_rows,
            "measure": self.measure,
            "bound": self.bound,
            "group": self.group,
            **({"nothing_to_judge": self.nothing_to_judge} if self.nothing_to_judge else {}),
            **({"people": True} if self.people else {}),
            **({"known_from": dict(self.known_from)} if self.known_from else {}),
            **({"facts": dict(self.facts)} if self.facts else {}),
        }

    def of_people(self) -> Verdict:
        """Return the verdict on a table in which each row is a person, in these words."""
        return replace(self, people=True, measure=_of_people(self.measure), finding=_of_people(self.finding))

    def merged(self, other: Verdict) -> Verdict:
        """Return the verdict on two parts of a release that have no group in common: the worst, and sums of counts."""
        passes = [verdict.satisfied or verdict.nothing_to_judge != "" for verdict in (self, other)]
        if self.measure != other.measure:  # too small a class is looked at before all else, where there is one
            return other if passes[0] else self
        if other.reached is None or self.reached is None:
            worse, better = (other, self) if self.reached is None else (self, other)
        else:
            lower = self.reached <= other.reached
            worse, better = (self, other) if lower == (self.bound == "at least") else (other, self)
        reached, facts = worse.reached, _merged_facts(worse.facts, better.facts)
        if self.counts_all and other.counts_all and self.reached is not None and other.reached is not None:
            reached = self.reached + other.reached
        of_worse = tuple(self.model.notes_on(worse.facts))
        return replace(
            worse,
            satisfied=all(passes),
            nothing_to_judge=self.nothing_to_judge if other.nothing_to_judge else "",
            reached=reached,
            groups=self.groups + other.groups,
            failing=self.failing + other.failing,
            failing_rows=self.failing_rows + other.failing_rows,
            facts=facts,
            notes=(*self.model.notes_on(facts), *(note for note in worse.notes if note not in of_worse)),
        )

    @property
    def word(self) -> str:
        """The verdict in a word or three."""
        return "holds" if self.satisfied else "has NOTHING TO JUDGE" if self.nothing_to_judge else "FAILS"

    @property
    def title(self) -> str:
        """The model and the columns that it names."""
        columns = quoted(self.model.judged_columns)
        return f"{self.model.name} of {columns}" if columns else self.model.name

    def __str__(self) -> str:
        claims = [name for name, origin in self.known_from.items() if origin == CLAIMED]
        believed = f"; {', '.join(claims)} {CLAIMED}" if claims else ""
        return f"{self.title} {self.word}: {self._finding()}{believed}"

    def _repr_html_(self) -> str:
        colour = "#1a7f37" if self.satisfied else "#cf222e"
        return (
            f'<div style="border-left:4px solid {colour};padding:2px 10px;margin:4px 0">'
            f'<b>{html.escape(self.title)}</b> <span style="color:{colour}">{self.word}</span>: '
            f"{html.escape(self._finding())}"
            f'<br><span style="opacity:.7">{html.escape(self.model.promise)}</span></div>'
        )

    def _finding(self) -> str:
        if self.nothing_to_judge or self.finding:
            return self.nothing_to_judge or self.finding
        if self.reached is None:
            return _NO_GROUP
        reached, required = _apart(self.reached, self.required)
        words = f"{self.measure} {reached}, required {self.bound} {required}"
        if self.satisfied:
            return f"{words} ({_counted(self.groups, self.group)})"
        rows = f", {_counted(self.failing_rows, 'person' if self.people else 'row')}" if self.failing_rows else ""
        return f"{words} ({self.failing:,} of {_counted(self.groups, self.group)}{rows})"


_NO_GROUP = "the table has nothing that the requirement is about"
_ADDED = (
    *("rows", "records", "withheld", "classes_that_lack_values"),
    *("unlinkable_rows", "rows_without_terms", "vacuous_groups"),
)


def _of_people(words: str) -> str:
    """Return words in which people are counted rather than records; names in quotes stay.

    >>> _of_people("3 of 4 records of 'records'")
    "3 of 4 people of 'records'"
    """
    return re.sub(r"'[^']*'|\"[^\"]*\"|\brecords\b", lambda found: {"records": "people"}.get(found[0], found[0]), words)


def _merged_facts(worse: Mapping[str, Any], better: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of two parts: what is said of the worst group stays, what differs and cannot be added goes."""
    if not worse or not better:
        return dict(worse or better)
    found = {}
    for name in dict.fromkeys([*worse, *better]):
        if name.startswith(("smallest", "largest", "highest")):  # a part without such a group says nothing of it
            known = [facts[name] for facts in (worse, better) if name in facts]
            found[name] = min(known) if name.startswith("smallest") else max(known)
            continue
        if name not in worse or name not in better:
            continue
        one, two = worse[name], better[name]
        if name in _ADDED:
            found[name] = one + two
        elif name.startswith("worst") or one == two:
            found[name] = one
    return found


def _counted(count: int, thing: str) -> str:
    if thing == "person":
        return f"{count:,} {'person' if count == 1 else 'people'}"
    plural = "" if count == 1 else "es" if thing.endswith("s") else "s"
    return f"{count:,} {thing}{plural}"


def _apart(reached: float, required: float) -> tuple[str, str]:
    """Return two numbers as short text, with as many digits as it takes to tell them apart."""
    shown = ("", "")
    for digits in (4, 6, 9, 17):
        shown = (_short(reached, digits), _short(required, digits))
        if shown[0] != shown[1] or reached == required:
            break
    return shown


def _short(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return "without bound"
    return f"{int(value):,}" if value == int(value) else f"{value:,.{digits}g}"


class Need(StrEnum):
    """What a model takes as known to everybody besides the release."""

    KNOWLEDGE = "knowledge"  # which labels terms lead to
    PRIOR = "prior"  # how likely labels were before; comes with the knowledge table, or from the data
    BASE_RATES = "base rates"  # how common each value of the columns that it names is
    POPULATION = "population"  # all people that rows could be about, with their quasi-identifiers


@runtime_checkable
class PrivacyModel(Protocol):
    """What a release must satisfy. Members are frozen dataclasses that inherit from it; fields are the plan's keys."""

    name: ClassVar[str]
    judged_role: ClassVar[Role]  # of the columns that it names
    needs: ClassVar[frozenset[Need]] = frozenset()
    # Whether no release holds where the one that tells least does not: proven in docs/concepts/reach.md.
    least_decides: ClassVar[bool] = False
    counts_people: ClassVar[bool] = False  # whether it judges people all of whose rows stay (data/people.py)
    masks: ClassVar[bool] = False  # whether the columns that it names may be published as labels of their hierarchy

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def promise(self) -> str:
        """One sentence for people: what holds when the audit passes."""

    def promise_beside(self, schema: Schema) -> str:
        """What holds when the audit passes, with what the other columns of a plan mean for it."""
        return self.promise

    @property
    def limit(self) -> str:
        """One sentence for people: an attack that it does not stop."""

    @property
    def advice(self) -> str:
        """What the holder of the data may ask for to stop that, too; nothing where there is nothing to ask for."""
        return ""

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """Columns that the requirement names, besides the quasi-identifiers: in those parameters that take columns."""
        return tuple(columns_named(type(self), vars(self)))

    def problems(self, schema: Schema, together: Policy) -> Iterator[Problem]:
        """Yield what is wrong with it in a plan with these columns and requirements, besides roles and needs."""
        yield from ()

    def unsearchable(self, together: Policy) -> Iterator[Problem]:
        """Yield why no search meets it together with other requirements; each of them can still be judged."""
        yield from ()

    def warnings(self) -> Iterator[str]:
        """Yield what is allowed but deserves a second look."""
        yield from ()

    @property
    def judges_apart(self) -> bool:
        """Whether classes can be judged in parts of a release, if it is known how common values are in the whole."""
        return False

    def notes_on(self, facts: Mapping[str, Any]) -> Iterator[str]:
        """Yield what whoever reads a verdict with such facts should know besides."""
        yield from ()

    def nothing_to_judge(self, release: Release) -> str:
        """Return why a release gives the audit nothing to judge; nothing where it does.

        That is so where it has no row, or where every cell of every column that the requirement names is missing or
        masked by the top label, so that it tells nothing of any value.
        """
        if not release.total:
            return "the table has no row"
        names = [name for name in self.judged_columns if name not in (getattr(self, "known", None) or ())]
        columns = [release.columns.get(name) for name in names]
        if columns and all(column is not None and _tells_nothing(column, masks=self.masks) for column in columns):
            return f"every cell of {quoted(names)} is missing, masked or suppressed"
        return ""

    def most_classes(self, release: Release) -> float:
        """Return a number of classes that no release of these rows exceeds and still holds; infinity if none is known.

        The release has one class, all rows in it, its sensitive values as they are, and randomized cells that may be
        anything.
        """
        return math.inf

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release; `name_items` lets the verdict name the items that break it: for the holder's eyes only."""


@dataclass(frozen=True, kw_only=True)
class NothingElse(PrivacyModel):
    """A release holds what the plan publishes and nothing else, each judged value in one spelling.

    No plan asks for it: it is asked of every table.
    """

    name: ClassVar[str] = "nothing-else"
    judged_role: ClassVar[Role] = Role.OTHER
    promise: ClassVar[str] = (
        "The release holds nothing that the plan does not publish, and each judged value has one spelling."
    )
    limit: ClassVar[str] = (
        "Names, metadata and digests are checked. In the cells of published columns, only the spelling of judged "
        "values is checked."
    )

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Name the columns and files that do not belong to the release, and count entries beside the table."""
        strays = release.strays
        return Verdict(
            model=self,
            satisfied=not strays,
            reached=len(strays),
            required=0,
            groups=len(release.order) + len(strays),
            failing=len(strays),
            failing_rows=max((stray.rows for stray in strays), default=0),
            facts={
                "strays": [
                    {"what": f"{each.kind.value} {each.found}".rstrip(), "name": each.name, "rows": each.rows}
                    for each in strays
                ]
            },
            measure="what does not belong",
            bound="at most",
            group="column or file",
            finding="; ".join(map(str, strays)),
        )


def _tells_nothing(column: ReleasedColumn | CodedSets, *, masks: bool) -> bool:
    """Whether no cell of a column shows a value, or a label that stands for some of the values alone."""
    if isinstance(column, CodedSets):
        return n_members(column) == 0
    hidden = np.array([code == column.missing or (masks and label == ROOT) for code, label in enumerate(column.labels)])
    return bool(hidden.any() and hidden[column.codes].all())


def columns_named(make: type[PrivacyModel], values: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns that a requirement names, each with its place in it: also where other values are wrong.

    >>> from sfumato.models import LDiversity, SensitiveQidDiversity
    >>> columns_named(LDiversity, {"sensitive": "disease", "l": -1})
    {'disease': 'sensitive'}
    >>> columns_named(SensitiveQidDiversity, {"l": {"job": 3, "age": 2}})
    {'job': 'l.job', 'age': 'l.age'}
    """
    found: dict[str, str] = {}
    for parameter in parameters_of(make):
        value = values.get(parameter.name)
        if isinstance(value, str):
            value = [value]
        if parameter.names_columns and isinstance(value, Mapping if parameter.per_column else list | tuple):
            for name in (each for each in value if isinstance(each, str)):
                found.setdefault(name, f"{parameter.name}.{name}" if parameter.per_column else parameter.name)
    return found


ModelType = TypeVar("ModelType", bound=PrivacyModel)


KNOWN = about(
    Takes.COLUMNS,
    "Known secrets",
    "Other sensitive columns that somebody may know of a person: within a class, rows with equal values of them are "
    "judged by themselves.",
)


def known_columns(given: str | Sequence[str] | None, sensitive: str, model: str) -> tuple[str, ...]:
    """Return the sensitive columns that are taken as known, or raise when they are those that shall stay secret."""
    known = (given,) if isinstance(given, str) else tuple(given or ())
    if sensitive in known:
        raise PolicyError(
            f"{model} is asked of column {sensitive!r} for who knows this very column.\n"
            "Name other sensitive columns under known, or leave it out.",
            at="known",
        )
    return known


def describe(model: PrivacyModel) -> dict[str, Any]:
    """Return a model's name and parameters as plain data, as release.json shows them."""
    values = {item.name: getattr(model, item.name) for item in fields(model)}  # type: ignore[arg-type]
    return {"model": model.name} | {name: plain_number(value) for name, value in values.items() if value is not None}


def quoted(names: Iterable[str]) -> str:
    """Return names of columns for people.

    >>> print(quoted(("fever", "cough")))
    'fever', 'cough'
    """
    return ", ".join(repr(name) for name in names)


def plain_number(value: Any) -> Any:
    """Return a fraction as the number that reads back as the same fraction, or as text such as "1/3".

    A table of fractions becomes a table of such numbers.
    """
    if isinstance(value, Mapping):
        return {name: plain_number(each) for name, each in value.items()}
    if not isinstance(value, Fraction):
        return value
    number = as_number(value)
    return number if Fraction(str(number)) == value else str(value)


def as_number(value: Fraction) -> int | float:
    """Return a fraction as a whole number where it is one, else as the nearest float.

    >>> as_number(Fraction(4, 2)), as_number(Fraction(1, 4))
    (2, 0.25)
    """
    return value.numerator if value.denominator == 1 else float(value)


@dataclass(frozen=True)
class Policy:
    """All requirements of a plan."""

    requirements: tuple[PrivacyModel, ...]

    def __iter__(self) -> Iterator[PrivacyModel]:
        return iter(self.requirements)

    @property
    def judged_columns(self) -> tuple[str, ...]:
        """Columns that the requirements name, each once."""
        return tuple(dict.fromkeys(name for model in self.requirements for name in model.judged_columns))

    def of(self, *types: type[ModelType]) -> tuple[ModelType, ...]:
        """Return the requirements of some types."""
        return tuple(model for model in self.requirements if isinstance(model, types))

    def k(self) -> int:
        """Return the smallest class size that the requirements ask for, 1 when none does."""
        # Those with a population count other rows, those that leave classes alone count rows of the whole table.
        asked = (
            model
            for model in self.requirements
            if Need.POPULATION not in model.needs and getattr(model, "within_classes", True)
        )
        return max((int(getattr(model, "k", 1)) for model in asked), default=1)
