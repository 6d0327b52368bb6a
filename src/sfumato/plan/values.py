"""A plan as values, whoever wrote it down."""

from __future__ import annotations

import hashlib
import html
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sfumato.anonymizers import choosing
from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.choosing import Step
from sfumato.data.figures import SHOWS
from sfumato.data.files import Source, digest
from sfumato.data.files.databases.publishing import IfExists
from sfumato.data.files.release import ReleaseFormat
from sfumato.data.gathering import Gather
from sfumato.data.knowledge_reading import KnowledgeSource
from sfumato.data.sampling import Sampling
from sfumato.data.schema import Schema
from sfumato.errors import DataError, PlanError, Problem, did_you_mean
from sfumato.models.base import Policy
from sfumato.parameters import Takes, parameter, parametrized

if TYPE_CHECKING:
    from sfumato.plan.preview import Preview

TOO_DEEP = "its lists and tables stand in each other too deeply. Write it flatter."


def one_or_more(shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a value, or a list of such values."""
    return {"anyOf": [shape, {"type": "array", "minItems": 1, "items": shape}]}


@parametrized
class ReleaseOptions:
    """How the release is written."""

    format: ReleaseFormat | None = parameter(  # None: the release is a table of a database and no file
        Takes.CHOICE,
        "Format",
        "The file that the release is; with `database` there is none unless this is written.",
        default="csv",
        choices=get_args(ReleaseFormat),
    )
    database: str | None = parameter(
        Takes.TEXT,
        "Database",
        "Where the release becomes a table: the name of a connection, or a file of SQLite or DuckDB (.sqlite .duckdb).",
        default=None,
    )
    table: str | None = parameter(
        Takes.TEXT, "Table", "Of that database, with its schema: public.stays_2026.", default=None
    )
    if_exists: IfExists = parameter(
        Takes.CHOICE,
        "If it exists",
        "What becomes of a table of that name.",
        default="refuse",
        choices=get_args(IfExists),
    )
    dialect: Literal["plain", "source"] = parameter(
        Takes.CHOICE,
        "Dialect",
        "Of a CSV file: comma, UTF-8 and decimal point, or separator, encoding and decimal mark of the source.",
        default="plain",
        choices=("plain", "source"),
    )
    shuffle: bool = parameter(
        Takes.FLAG, "Random order", "Whether rows are shuffled: their order may tell who they are.", default=True
    )
    persons: Literal["none", "numbered"] = parameter(
        Takes.CHOICE,
        "Rows of a person",
        "With [source] person, without [gather]: numbered publishes all rows, with a new number for each person.",
        default="none",
        choices=("none", "numbered"),
    )
    shows: str = parameter(
        Takes.CHOICE,
        "Numbers of classes",
        "What stands for numbers that were made coarser: their range or label, or the mean or median of the class.",
        default="range",
        choices=SHOWS,
    )
    publish_base_rates: bool = parameter(
        Takes.FLAG,
        "Publish base rates",
        "Whether release.json shows how common the values of masked columns were.",
        default=False,
    )
    publish_members: bool = parameter(
        Takes.FLAG,
        "Publish members",
        "Whether release.json lists the values below each published label of a hierarchy in a file or in the plan.",
        default=True,
    )


@parametrized
class PopulationOptions:
    """Of whom the table is a sample."""

    size: int | None = parameter(
        Takes.WHOLE,
        "Size",
        "How many people there are, those in the table included.",
        default=None,
        least=1,
        example=8_500_000,
    )
    fraction: float | None = parameter(
        Takes.NUMBER,
        "Fraction",
        "In place of a size: the share of them that the table is about.",
        default=None,
        above=0,
        most=1,
        example=0.01,
    )
    path: str | None = parameter(
        Takes.TEXT,
        "File",
        "All of them, row by row, with the quasi-identifiers, which a journalist would search.",
        default=None,
    )


@parametrized
class EngineOptions:
    """Where it runs."""

    name: str = parameter(
        Takes.CHOICE,
        "Engine",
        "This machine, or a cluster of Apache Spark.",
        default="local",
        choices=("local", "spark"),
    )
    master: str | None = parameter(
        Takes.TEXT,
        "Master",
        "Of Spark, such as spark://HOST:7077; this machine when left out.",
        default=None,
        example="spark://cluster:7077",
    )
    distinct_on_driver: int | None = parameter(
        Takes.WHOLE,
        "Distinct rows on the driver",
        "Of Spark: distinct rows that the driver decides about, about 1 kB each; 20,000,000 when left out.",
        default=None,
        least=1,
        example=50_000_000,
    )


@parametrized
class MeasureOptions:
    """What is measured beyond the usual."""

    target: str | None = parameter(
        Takes.COLUMN,
        "Target",
        "Column that a classifier predicts from the quasi-identifiers, before and after.",
        default=None,
    )
    tables: tuple[tuple[str, ...], ...] = parameter(
        Takes.OTHER,
        "Cross tables",
        "Columns of cross tables that an analyst would compute from randomized columns; random ones if none.",
        default=(),
        example=[["age", "job"]],
        shape={"type": "array", "items": {"type": "array", "minItems": 1, "items": {"type": "string"}}},
    )
    queries: int = parameter(Takes.WHOLE, "Queries", "Random counts that are asked of the release, for each number of "
                       "columns; fewer where millions of records differ.", default=1_000, least=1)  # fmt: skip
    query_columns: tuple[int, ...] = parameter(
        Takes.OTHER,
        "Columns of a query",
        "How many quasi-identifiers random queries ask for: one number, or several in turn.",
        default=(1, 3, 5),
        example=[1, 3, 5],
        shape=one_or_more({"type": "integer", "minimum": 1}),
    )
    query_selectivity: float = parameter(
        Takes.NUMBER, "Selectivity", "Share of all records that a random query aims at.", default=0.5, above=0, most=1
    )
    rule_support: float = parameter(
        Takes.FRACTION,
        "Support of rules",
        "Share of records that hold all items of a rule.",
        default=0.0005,
        above=0,
        most=1,
    )
    rule_confidences: tuple[Any, ...] = parameter(
        Takes.OTHER,
        "Confidence of rules",
        "Confidences from which on rules are compared; the last one is the headline.",
        default=(0.3, 0.7),
        example=[0.3, 0.7],
        shape=one_or_more({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
    )
    rule_length: int = parameter(
        Takes.WHOLE, "Length of rules", "Items of a rule at most, both sides together.", default=5, least=2, most=10
    )

    @property
    def of_queries(self) -> Mapping[str, Any]:
        """The parameters of random queries."""
        return {"dimensions": self.query_columns, "selectivity": self.query_selectivity, "queries": self.queries}

    @property
    def of_rules(self) -> Mapping[str, Any]:
        """The parameters of association rules."""
        return {"support": self.rule_support, "confidences": self.rule_confidences, "longest": self.rule_length}


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """A checked plan. Make one with `Plan.load` (a TOML file) or `Plan.from_dict` (the same structure in Python)."""

    schema: Schema
    policy: Policy
    source: Source | None = None
    gather: Gather | None = None  # whose row each is, where the plan says it
    weight: str | None = None  # the column of survey weights: how many people each row stands for
    household: str | None = None  # the column that is equal for people who live together
    population: PopulationOptions = field(default_factory=PopulationOptions)
    knowledge: KnowledgeSource | None = None
    publish_prior: bool = False  # whether release.json shows a prior that was estimated from the data
    chosen: Mapping[int, str] = field(default_factory=dict)  # requirement's position -> anonymizer that the plan names
    options: Mapping[str, Anonymizer] = field(default_factory=dict)
    release: ReleaseOptions = field(default_factory=ReleaseOptions)
    measure: MeasureOptions = field(default_factory=MeasureOptions)
    target: Source | None = None  # the table of a database that the release becomes
    engine: EngineOptions = field(default_factory=EngineOptions)
    path: Path | None = None
    text: str | None = None  # of the file, to the letter
    files: Mapping[str, Path] = field(default_factory=dict)  # what it reads besides the source, by place in the plan
    document: Mapping[str, Any] = field(default_factory=dict, compare=False)  # what it was made of
    questions: tuple[str, ...] = ()  # of a draft: what its holder has not answered yet
    unsearchable: tuple[Problem, ...] = ()  # why no release can be made by it; tables can still be judged by it

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a TOML file; paths in it are relative to the file."""
        path = Path(path)
        try:
            return cls.from_text(path.read_bytes().decode("utf-8"), path)
        except FileNotFoundError:
            raise _refused(path, f"there is no such file.{_plans_beside(path)}") from None
        except OSError as error:
            raise _refused(path, f"it cannot be read: {error.strerror or error}.") from None
        except UnicodeDecodeError as error:
            raise _refused(path, f"it is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from None

    @classmethod
    def from_text(cls, text: str, path: Path) -> Plan:
        """Return the plan that a TOML text describes; paths in it are relative to where its file is, or was."""
        from sfumato.plan.parsing import parse  # which makes plans of this class

        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _refused(path, f"it is not valid TOML: {error}.") from None
        except RecursionError:
            raise _refused(path, TOO_DEEP) from None
        except ValueError:
            raise _refused(path, "it has a whole number of thousands of digits. Write a smaller one.") from None
        try:
            return parse(document, path.parent, _called(path), path=path, text=text)
        except RecursionError:
            raise _refused(path, TOO_DEEP) from None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], base: str | Path = ".") -> Plan:
        """Build a plan from the structure of the TOML file; requirements may also be model objects.

        >>> from sfumato.data.schema import Role
        >>> from sfumato.models import KAnonymity
        >>> plan = Plan.from_dict({
        ...     "columns": {"age": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}},
        ...     "require": [KAnonymity(k=2)],
        ... })
        >>> plan.schema.named(Role.QUASI_IDENTIFIER)
        ('age',)
        """
        from sfumato.plan.parsing import parse

        if not isinstance(document, Mapping):
            raise PlanError([Problem("", f"it must be a dictionary, but is a {type(document).__qualname__}.")])
        return parse(document, Path(base), "The plan")

    @property
    def counts_people(self) -> bool:
        """Whether people are counted, each of whom may have several rows."""
        return self.gather is not None or self.schema.person is not None

    @property
    def sampling(self) -> Sampling:
        """What it says of the people that its table is a sample of."""
        given = self.population
        return Sampling(size=given.size, fraction=given.fraction, weight=self.weight, household=self.household)

    @property
    def sha256(self) -> str | None:
        """The digest of the plan's file."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest() if self.text is not None else None

    def digests(self) -> dict[str, str]:
        """Return the digest of each file that the plan reads besides the source, by its place in the plan."""
        found = {}
        for place, path in self.files.items():
            with suppress(DataError):  # gone, or nothing that can be read: whoever needs it says so
                found[place] = digest(path)
        return found

    def __repr__(self) -> str:
        required = ", ".join(model.name for model in self.policy)
        return f"<Plan: {len(self.schema.columns)} columns; {required}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.to_toml())}</pre>"

    def explain(self, *, every_row: bool = False) -> Preview:
        """Return what will be done, in what order and why, or raise with every problem found in plan and data."""
        from sfumato.plan.preview import preview

        return preview(self, every_row=every_row)

    def to_toml(self) -> str:
        """Return the plan as a file would hold it: to the letter, if it came from one."""
        from sfumato.plan.writing import toml_of

        return self.text if self.text is not None else toml_of(self.document)

    def over(self, names: Iterable[str]) -> Plan:
        """Return the plan for a table with these columns: its patterns stand for those that they fit."""
        from sfumato.plan.checks import problems_of, unsearchable

        if not self.schema.patterns:
            return self
        plan = replace(self, schema=self.schema.over(self.names_over(names)))
        if problems := list(problems_of(plan)):
            raise PlanError(problems)
        return replace(plan, unsearchable=tuple(dict.fromkeys((*plan.unsearchable, *unsearchable(plan)))))

    def searchable(self) -> Plan:
        """Return the plan, or raise with all problems that keep a search from meeting it: audits need no search."""
        if self.unsearchable:
            raise PlanError(self.unsearchable, _called(self.path) if self.path is not None else "The plan")
        return self

    def names_over(self, names: Iterable[str]) -> list[str]:
        """Return the columns that the plan is about, given those of its source: people's, where rows are gathered."""
        return self.gather.names(list(names), self.schema) if self.gather is not None else list(names)

    def steps(self) -> tuple[Step, ...]:
        """Return what will be done, in order of the phases: what a later one builds on is decided before it."""
        return choosing.steps(self.schema, self.policy, chosen=self.chosen, options=self.options)

    @property
    def masked_columns(self) -> tuple[str, ...]:
        """The sensitive columns that may be published as labels, for which base rates are needed."""
        masking = (model.judged_columns for model in self.policy if model.masks)
        return tuple(dict.fromkeys(name for columns in masking for name in columns))

    def warnings(self) -> tuple[str, ...]:
        """Return what is allowed but deserves a second look."""
        from sfumato.plan.checks import warnings_of

        return tuple(warnings_of(self))


def is_plan(path: Path) -> bool:
    """Whether a file looks like a plan: TOML that says something of columns."""
    try:
        return "columns" in tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def _called(path: Path) -> str:
    return f"Plan {path.name or str(path)!r}"


def _refused(path: Path, what: str) -> PlanError:
    return PlanError([Problem("", what)], _called(path))


def _plans_beside(path: Path) -> str:
    """Return a hint at plans in the same folder."""
    folder = path.parent
    near = sorted(item.name for item in folder.glob("*.toml"))[:20] if folder.is_dir() else []
    return did_you_mean(path.name, near) if near else " `sfumato init DATA` drafts one."
