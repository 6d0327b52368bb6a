"""The plan: what each column may reveal, and what must hold.

A plan is TOML, or the same structure in Python. It is checked as a whole: every problem is listed, not only the first.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from sfumato.anonymizers import ANONYMIZERS, choosing
from sfumato.anonymizers.base import Anonymizer
from sfumato.anonymizers.choosing import Step, aiming_at
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.term_suppression import TermSuppression
from sfumato.data.bins import Bins
from sfumato.data.builders import hierarchy_source
from sfumato.data.files import Source
from sfumato.data.files.release import ReleaseFormat
from sfumato.data.knowledge import UNLINKED
from sfumato.data.knowledge_reading import FROM_DATA, KnowledgeSource
from sfumato.data.schema import DEFAULT_MISSING, ColumnSpec, Kind, Role, Schema, SensitiveShare
from sfumato.errors import InputError, PlanError, PolicyError, Problem, did_you_mean
from sfumato.models import PRIVACY_MODELS
from sfumato.models.base import Need, Policy, PrivacyModel

REST = "*"
FORMATS = ("csv", "parquet")
COLUMN_KEYS = (
    "role", "kind", "hierarchy", "separator", "domain", "bins", "sensitive_items", "present", "term", "base_rates",
)  # fmt: skip

# Roles that promise protection which only a requirement on the column can give: without one, nothing may be published.
NEED_A_REQUIREMENT = (Role.QUASI_SENSITIVE, Role.SENSITIVE_QUASI_IDENTIFIER, Role.ITEMS)


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions:
    """How the release is written."""

    format: ReleaseFormat = "csv"
    shuffle: bool = True
    publish_base_rates: bool = False  # whether release.json shows how common values of masked columns were


@dataclass(frozen=True, kw_only=True)
class MeasureOptions:
    """What is measured beyond the usual."""

    target: str | None = None  # column that a classifier predicts from the quasi-identifiers, before and after
    tables: tuple[tuple[str, ...], ...] = ()  # columns of cross tables that an analyst would compute; none: random ones


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A checked plan. Make one with `Plan.load` (a TOML file) or `Plan.from_dict` (the same structure in Python)."""

    schema: Schema
    policy: Policy
    source: Source | None = None
    knowledge: KnowledgeSource | None = None
    publish_prior: bool = False  # whether release.json shows a prior that was estimated from the data
    chosen: Mapping[int, str] = field(default_factory=dict)  # requirement's position -> anonymizer that the plan names
    options: Mapping[str, Anonymizer] = field(default_factory=dict)
    release: ReleaseOptions = field(default_factory=ReleaseOptions)
    measure: MeasureOptions = field(default_factory=MeasureOptions)
    path: Path | None = None
    sha256: str | None = None

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a TOML file; paths in it are relative to the file."""
        path = Path(path)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            raise PlanError(
                [Problem("", f"there is no such file.{_plans_beside(path)}")], f"Plan {path.name!r}"
            ) from None
        except OSError as error:
            raise PlanError(
                [Problem("", f"it cannot be read: {error.strerror or error}.")], f"Plan {path.name!r}"
            ) from None
        try:
            document = tomllib.loads(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise PlanError(
                [Problem("", f"it is not UTF-8 text (byte {error.start}). Save it as UTF-8.")], f"Plan {path.name!r}"
            ) from None
        except tomllib.TOMLDecodeError as error:
            raise PlanError([Problem("", f"it is not valid TOML: {error}.")], f"Plan {path.name!r}") from None
        return _Parser(document, path.parent, f"Plan {path.name!r}").plan(path, hashlib.sha256(text).hexdigest())

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], base: str | Path = ".") -> Plan:
        """Build a plan from the structure of the TOML file; requirements may also be model objects.

        >>> from sfumato.models import KAnonymity
        >>> plan = Plan.from_dict({
        ...     "columns": {"age": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}},
        ...     "require": [KAnonymity(k=2)],
        ... })
        >>> plan.schema.named(Role.QUASI_IDENTIFIER)
        ('age',)
        """
        return _Parser(document, Path(base), "The plan").plan(None, None)

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
        found = []
        found += [warning for model in self.policy for warning in model.warnings()]
        judged = {column for model in self.policy for column in model.judged_columns}
        bare = [name for name in self.schema.named(Role.SENSITIVE) if name not in judged]
        if bare:
            found.append(
                f"No requirement judges the sensitive column(s) {_names(bare)}: whoever is linked to a class of equal "
                "values learns them. Add l-diversity, t-closeness or multi-diversity."
            )
        from_data = [
            name
            for name in self.schema.named(Role.SENSITIVE_QUASI_IDENTIFIER)
            if self.schema.columns[name].domain is None
        ]
        if from_data:
            found.append(
                f"The domain of {_names(from_data)} is taken from the data: the release tells which values occur. "
                "Declare domain = [...] from a public code book."
            )
        if not self.release.shuffle:
            found.append("Rows keep their order ([release] shuffle = false): the position of a row may tell who it is.")
        if self.schema.rest is Role.OTHER:
            found.append(
                'Columns that the plan does not name are published as they are ([columns."*"] role = "other").'
            )
        chosen = {step.anonymizer.name for step in self.steps()}
        for name in self.options:
            if name not in chosen:
                found.append(f"[anonymizers.{name}] is set, but {' and '.join(sorted(chosen))} does the work.")
        return tuple(found)


class _Parser:
    """Walks through a plan and collects every problem."""

    def __init__(self, document: Mapping[str, Any], base: Path, where: str) -> None:
        self.document = document
        self.base = base
        self.where = where
        self.problems: list[str] = []

    def plan(self, path: Path | None, sha256: str | None) -> Plan:
        known = ("source", "columns", "knowledge", "require", "anonymizers", "release", "measure")
        self._known_keys(self.document, known, "the plan")
        missing = self._missing()
        schema = self._schema(missing)
        requirements, chosen = self._requirements()
        parsed = Plan(
            schema=schema,
            policy=Policy(tuple(requirements)),
            source=self._source(missing),
            knowledge=self._knowledge(),
            publish_prior=self._flag(self._table("knowledge"), "publish_prior", False, "[knowledge]"),
            chosen=chosen,
            options=self._options(),
            release=self._release(),
            measure=self._measure(schema),
            path=path,
            sha256=sha256,
        )
        self._check_together(parsed)
        if self.problems:
            raise PlanError((Problem("", text) for text in dict.fromkeys(self.problems)), self.where)
        return parsed

    # Small tools. Each returns something usable after noting a problem, so that the walk goes on.

    def _known_keys(self, table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        for key in table:
            if key not in known:
                self.problems.append(f"{where} has an unknown key {key!r}.{did_you_mean(key, known)}")

    def _table(self, key: str) -> Mapping[str, Any]:
        value = self.document.get(key, {})
        if isinstance(value, Mapping):
            return value
        self.problems.append(f"[{key}] must be a table, not {_kind_of(value)}.")
        return {}

    def _text(self, table: Mapping[str, Any], key: str, where: str) -> str | None:
        value = table.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        self.problems.append(f"{where} {key} must be text, not {_kind_of(value)}.")
        return None

    def _choice(self, table: Mapping[str, Any], key: str, known: Sequence[str], where: str) -> str | None:
        value = table.get(key)
        if value is None or value in known:
            return value
        if not isinstance(value, str):
            self.problems.append(f"{where} {key} must be text, not {_kind_of(value)}. Known: {_names(known)}.")
        else:
            self.problems.append(f"{where} has an unknown {key} {value!r}.{did_you_mean(value, known)}")
        return None

    def _texts(self, value: Any, what: str) -> tuple[str, ...] | None:
        """Return a list of texts, given as such or as a file with one a line."""
        if isinstance(value, str):
            try:
                lines = (self.base / value).read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError):
                self.problems.append(f"{what} names the file {value!r}, which cannot be read as UTF-8 text.")
                return None
            return tuple(line.strip() for line in lines if line.strip())
        if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
            return tuple(str(item) for item in value)
        self.problems.append(f"{what} must be a list of texts or the name of a file, not {_kind_of(value)}.")
        return None

    # The parts of a plan.

    def _missing(self) -> tuple[str, ...]:
        value = self._table("source").get("missing", list(DEFAULT_MISSING))
        if isinstance(value, str):
            return (value,)
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self.problems.append(f"[source] missing must be a list of texts, not {_kind_of(value)}.")
        return DEFAULT_MISSING

    def _source(self, missing: tuple[str, ...]) -> Source | None:
        table = self._table("source")
        self._known_keys(table, ("path", "separator", "missing"), "[source]")
        path = self._text(table, "path", "[source]")
        separator = self._text(table, "separator", "[source]")
        if path is None:
            return None
        return Source(path=self.base / path, separator=separator, missing=missing)

    def _schema(self, missing: tuple[str, ...]) -> Schema:
        columns: dict[str, ColumnSpec] = {}
        rest: Role | None = None
        for name, given in self._table("columns").items():
            if isinstance(given, ColumnSpec):
                columns[name] = given
                continue
            if not isinstance(given, Mapping):
                self.problems.append(f"[columns.{name}] must be a table, not {_kind_of(given)}.")
                continue
            spec = self._column(name, given)
            if name == REST:
                rest = spec.role
            else:
                columns[name] = spec
        if not columns and rest is None:
            self.problems.append(
                'it declares no columns. Give each column a role: [columns.age] role = "quasi-identifier".'
            )
        return Schema(columns=columns, rest=rest, missing=missing)

    def _column(self, name: str, table: Mapping[str, Any]) -> ColumnSpec:
        where = f"[columns.{name}]"
        known = COLUMN_KEYS[:1] if name == REST else COLUMN_KEYS
        self._known_keys(table, known, where)
        if "role" not in table:
            self.problems.append(f"{where} has no role. Known: {_names(list(Role))}.")
        role = self._choice(table, "role", list(Role), where)
        kind = self._choice(table, "kind", list(Kind), where)
        hierarchy = None
        if "hierarchy" in table:
            try:
                hierarchy = hierarchy_source(table["hierarchy"], self.base)
            except InputError as error:
                self.problems.append(f"{where} {_one_line(error)}")
        domain = None
        if table.get("domain", "data") != "data":
            domain = self._texts(table["domain"], f"{where} domain")
        bins = None
        if "bins" in table:
            try:
                bins = Bins.of(table["bins"])
            except PolicyError as error:
                self.problems.append(f"{where} {_one_line(error)}")
            if domain is not None:
                self.problems.append(f"{where} has both a domain and bins. The bins are the domain; leave the other.")
            if kind not in (None, Kind.NUMBER):
                self.problems.append(f"{where} has bins, which are for numbers, but kind = {kind!r}.")
            domain = bins.labels if bins is not None else None
        sensitive_items = None
        if "sensitive_items" in table:
            sensitive_items = self._sensitive_items(table["sensitive_items"], where)
            if role not in (None, Role.ITEMS):
                self.problems.append(f"{where} has sensitive_items, which only a column with the role 'items' has.")
        if kind == Kind.ORDERED and domain is None and hierarchy is None:
            self.problems.append(
                f"{where} is ordered, but nothing says in which order. Give domain = [lowest, ..., highest]."
            )
        if kind == Kind.SET and role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
            self.problems.append(f"{where} holds sets, which cannot be a {role}. Use quasi-sensitive or items.")
        return ColumnSpec(
            name=name,
            role=Role(role) if role else Role.IDENTIFIER,
            kind=Kind(kind) if kind else None,
            hierarchy=hierarchy,
            separator=self._text(table, "separator", where) or "|",
            domain=domain,
            bins=bins,
            sensitive_items=sensitive_items,
            present=self._present(table, role, kind, where),
            term=self._text(table, "term", where),
            base_rates=self._base_rates(table, where),
        )

    def _present(
        self, table: Mapping[str, Any], role: str | None, kind: str | None, where: str
    ) -> tuple[str, ...] | None:
        """Return the values of a binary column that count as a term."""
        given = table.get("present")
        if given is None:
            if "term" in table:
                self.problems.append(f'{where} has a term, but not the value that says it: present = "yes".')
            return None
        if role != Role.QUASI_SENSITIVE or kind == Kind.SET:
            self.problems.append(f"{where} present is for quasi-sensitive columns of single values.")
        values = given if isinstance(given, list | tuple) else [given]
        if not values or not all(isinstance(value, str | int) for value in values):
            self.problems.append(f"{where} present must be a value or a list of values, not {_kind_of(given)}.")
            return None
        return tuple(str(value).lower() if isinstance(value, bool) else str(value) for value in values)

    def _sensitive_items(self, value: Any, where: str) -> tuple[str, ...] | SensitiveShare | None:
        if not isinstance(value, Mapping):
            found = self._texts(value, f"{where} sensitive_items")
            if found == ():
                self.problems.append(
                    f"{where} sensitive_items names none. List at least one, or a file with one a line."
                )
            return found
        self._known_keys(value, ("share", "seed"), f"{where} sensitive_items")
        share, seed = value.get("share"), value.get("seed", 0)
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            self.problems.append(f"{where} sensitive_items share must be a number between 0 and 1, such as 0.4.")
            return None
        if isinstance(seed, bool) or not isinstance(seed, int):
            self.problems.append(f"{where} sensitive_items seed must be a whole number.")
            return None
        return SensitiveShare(share=share, seed=seed)

    def _base_rates(self, table: Mapping[str, Any], where: str) -> Path | None:
        path = self._text(table, "base_rates", where)
        return None if path in (None, FROM_DATA) else self.base / str(path)

    def _requirements(self) -> tuple[list[PrivacyModel], dict[int, str]]:
        given = self.document.get("require", [])
        if not isinstance(given, list | tuple) or not given:
            self.problems.append('it requires nothing. Say what must hold: [[require]] model = "k-anonymity", k = 5.')
            return [], {}
        requirements: list[PrivacyModel] = []
        chosen: dict[int, str] = {}
        for position, table in enumerate(given, start=1):
            if not isinstance(table, Mapping):
                if isinstance(table, tuple(PRIVACY_MODELS.values())):
                    requirements.append(cast(PrivacyModel, table))
                else:
                    self.problems.append(f"requirement {position} must be a table or a model, not {_kind_of(table)}.")
                continue
            name = self._choice(table, "model", list(PRIVACY_MODELS), f"requirement {position}")
            if "model" not in table:
                self.problems.append(f"requirement {position} has no model. Known: {_names(PRIVACY_MODELS)}.")
            anonymizer = self._choice(table, "anonymizer", list(ANONYMIZERS), f"requirement {position}")
            if name:
                model = self._build(
                    PRIVACY_MODELS[name], table, ("model", "anonymizer"), f"requirement {position} ({name})"
                )
                if model is not None:
                    if anonymizer:
                        self._check_aim(model, anonymizer, f"requirement {position} ({name})")
                        chosen[len(requirements)] = anonymizer
                    requirements.append(model)
        self.problems += choosing.disagreements(chosen.values())
        return requirements, chosen

    def _check_aim(self, model: PrivacyModel, anonymizer: str, where: str) -> None:
        make = ANONYMIZERS[anonymizer]
        if not isinstance(model, (*make.aims_at, *make.also_meets)):
            self.problems.append(
                f"{where} asks for {anonymizer}, which cannot meet it. Use {_names(aiming_at(model))}."
            )

    def _build(self, make: type[Any], table: Mapping[str, Any], besides: Sequence[str], where: str) -> Any:
        """Make a model or an anonymizer from a table, or note what is wrong with it."""
        known = [item.name for item in fields(make)]
        self._known_keys(table, (*known, *besides), where)
        needed = [
            item.name
            for item in fields(make)
            if item.default is MISSING and item.default_factory is MISSING and item.name not in table
        ]
        if needed:
            self.problems.append(f"{where} needs {_names(needed)}.")
            return None
        try:
            return make(**{key: value for key, value in table.items() if key in known})
        except (PolicyError, TypeError, ValueError) as error:
            self.problems.append(f"{where}: {_one_line(error)}")
            return None

    def _options(self) -> dict[str, Anonymizer]:
        options: dict[str, Anonymizer] = {}
        for name, table in self._table("anonymizers").items():
            if name not in ANONYMIZERS:
                self.problems.append(f"[anonymizers] has an unknown name {name!r}.{did_you_mean(name, ANONYMIZERS)}")
            elif not isinstance(table, Mapping):
                self.problems.append(f"[anonymizers.{name}] must be a table, not {_kind_of(table)}.")
            else:
                made = self._build(ANONYMIZERS[name], table, (), f"[anonymizers.{name}]")
                options |= {name: made} if made is not None else {}
        return options

    def _flag(self, table: Mapping[str, Any], key: str, default: bool, where: str) -> bool:
        value = table.get(key, default)
        if not isinstance(value, bool):
            self.problems.append(f"{where} {key} must be true or false, not {_kind_of(value)}.")
        return bool(value)

    def _knowledge(self) -> KnowledgeSource | None:
        table = self._table("knowledge")
        if not table:
            return None
        self._known_keys(
            table, ("path", "label", "terms", "separator", "prior", "unlinked", "publish_prior"), "[knowledge]"
        )
        path, label, separator, prior = (
            self._text(table, key, "[knowledge]") for key in ("path", "label", "separator", "prior")
        )
        terms: str | tuple[str, ...] | None = None
        if isinstance(table.get("terms"), list) and table["terms"]:
            terms = tuple(str(name) for name in table["terms"])
        else:
            terms = self._text(table, "terms", "[knowledge]")
        needed = [key for key in ("path", "label", "terms") if key not in table]
        if needed:
            self.problems.append(f"[knowledge] needs {_names(needed)}.")
        unlinked = self._choice(table, "unlinked", UNLINKED, "[knowledge]")
        if path is None or label is None or terms is None:
            return None
        return KnowledgeSource(
            path=self.base / path,
            label=label,
            terms=terms,
            separator=separator,
            prior=prior or FROM_DATA,
            unlinked=unlinked or "linked",
        )

    def _release(self) -> ReleaseOptions:
        table = self._table("release")
        self._known_keys(table, ("format", "shuffle", "publish_base_rates"), "[release]")
        return ReleaseOptions(
            format=cast(ReleaseFormat, self._choice(table, "format", FORMATS, "[release]") or "csv"),
            shuffle=self._flag(table, "shuffle", True, "[release]"),
            publish_base_rates=self._flag(table, "publish_base_rates", False, "[release]"),
        )

    def _measure(self, schema: Schema) -> MeasureOptions:
        table = self._table("measure")
        self._known_keys(table, ("target", "tables"), "[measure]")
        target = self._text(table, "target", "[measure]")
        if target is not None and schema.spec(target) is None:
            self.problems.append(
                f"[measure] target {target!r} is not a column of the plan.{did_you_mean(target, schema.columns)}"
            )
        tables = table.get("tables", [])
        named = isinstance(tables, list | tuple) and all(
            isinstance(each, list | tuple) and each and all(isinstance(name, str) for name in each) for each in tables
        )
        if not named:
            self.problems.append('[measure] tables must be a list of lists of columns: tables = [["age", "job"]].')
            tables = []
        for name in sorted({name for each in tables for name in each if schema.spec(name) is None}):
            self.problems.append(
                f"[measure] tables names {name!r}, which is not a column of the plan."
                f"{did_you_mean(name, schema.columns)}"
            )
        return MeasureOptions(target=target, tables=tuple(tuple(each) for each in tables))

    def _check_together(self, plan: Plan) -> None:
        schema = plan.schema
        linkable = schema.named(Role.QUASI_IDENTIFIER) or schema.rest is Role.QUASI_IDENTIFIER
        if schema.columns and not linkable and any(step.anonymizer.phase.forms_groups for step in plan.steps()):
            self.problems.append(
                'no column has the role "quasi-identifier": there is nothing that people could be linked by.'
            )
        for model in plan.policy:
            for name in model.judged_columns:
                spec = schema.spec(name)
                if spec is None:
                    self.problems.append(
                        f"requirement {model.name} names the column {name!r}, which the plan does not declare."
                        f"{did_you_mean(name, schema.columns)}"
                    )
                elif spec.role is not model.judged_role:
                    self.problems.append(
                        f"requirement {model.name} names the column {name!r}, whose role is {spec.role.value}. "
                        f"It must be {model.judged_role.value}."
                    )
            self.problems += map(str, model.problems(schema, plan.policy))
        if plan.knowledge is None and any(Need.KNOWLEDGE in model.needs for model in plan.policy):
            self.problems.append(
                "it judges quasi-sensitive columns, which needs public knowledge: [knowledge] path, label, terms."
            )
        self._check_terms(plan)
        judged = {name for model in plan.policy for name in model.judged_columns}
        for role in NEED_A_REQUIREMENT:
            for name in schema.named(role):
                if name not in judged:
                    self.problems.append(
                        f"column {name!r} has the role {role.value}, but no requirement protects it. "
                        f"Models in this version: {_names(PRIVACY_MODELS)}."
                    )

    def _check_terms(self, plan: Plan) -> None:
        """Note what joint removal of terms lacks."""
        steps = [step.anonymizer for step in plan.steps()]
        joint = any(isinstance(anonymizer, TermSuppression) and anonymizer.joint for anonymizer in steps)
        if joint and not any(isinstance(anonymizer, Mondrian) for anonymizer in steps):
            self.problems.append(
                "[anonymizers.term-suppression] joint = true needs groups that mondrian splits before it. Ask for "
                'k-anonymity, with anonymizer = "mondrian" or none named, or leave joint out.'
            )


def _plans_beside(path: Path) -> str:
    """Return a hint at plans in the same folder."""
    folder = path.parent
    near = sorted(item.name for item in folder.glob("*.toml"))[:20] if folder.is_dir() else []
    return did_you_mean(path.name, near) if near else " `sfumato init DATA` drafts one."


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split("\n"))


def _names(names: Any) -> str:
    return ", ".join(repr(str(name)) for name in names)


def _kind_of(value: Any) -> str:
    """Return what a TOML value is, in a reader's words."""
    words = {bool: "true/false", str: "text", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return next((word for kind, word in words.items() if isinstance(value, kind)), type(value).__name__)
