"""A knowledge table from what there is: events, lists, annotations with an ontology, or the data themselves.

What is written holds labels, terms and counts, and nothing that fewer than `min_count` lines (or people) of the source
say. Beside it stands where it came from: `NAME.json`.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.disk import atomic_file
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.knowledge.aliases import Aliases
from sfumato.knowledge.ontology import Ontology, read_ontology
from sfumato.knowledge.sources import Lines, Where, counted_lines, frequency, read_lines
from sfumato.parameters import exact_fraction
from sfumato.progress import SILENT, Progress

FORMAT = 1  # of NAME.json
INSIDER_COUNT = 5  # people, at least, behind whatever is written of the data themselves
COUNT, WEIGHT = "count", "weight"
SEPARATOR = "|"  # between the terms of a cell, where labels keep several rows
PUBLIC, INSIDER = "public", "insider"


@dataclass(frozen=True, kw_only=True)
class Build:
    """What a knowledge table is made of, and what it takes for a term to belong to a label."""

    source: Path
    label: str
    terms: str
    separator: str | None = None  # between the terms of a cell
    min_count: int | None = None  # lines, or people, that say so; None: 1, and 5 of the data themselves
    min_share: str | float | Fraction = 0  # of the label's lines, or people
    person: str | None = None  # column that says whose line it is: people are counted then
    insider: bool = False  # whether the source is the data themselves
    where: tuple[str, ...] = ()  # column=value or column!=value
    aliases: Path | None = None
    ontology: Path | None = None
    ancestors: bool = False  # whether what is above a term counts as well
    names: bool = False  # whether terms are written by the ontology's names
    weights: str | None = None  # column of how often a term goes with its label; "count": the share of lines
    missing_weight: str | float | Fraction | None = None  # of lines that have none
    label_prefix: int | None = None  # leading characters that make a label of a code
    terms_prefix: tuple[int, ...] = ()  # of a term; several: a code and what is above it

    def __post_init__(self) -> None:
        if self.min_count is not None and self.min_count < 1:
            raise PolicyError(f"--min-count was given as {self.min_count}.\nGive a whole number of at least 1.")
        if (self.ancestors or self.names) and self.ontology is None:
            raise PolicyError(
                "Terms were to get their ancestors or names, but nothing says which.\nName an ontology with --ontology."
            )
        if self.label == self.terms and self.label_prefix is None:
            raise PolicyError(
                f"Label and terms were both given as column {self.label!r}.\n"
                "Name two columns, or say with --label-prefix how many characters of a code make its label."
            )
        if any(length < 1 for length in (*self.terms_prefix, self.label_prefix or 1)):
            raise PolicyError("A prefix of codes was asked for with fewer than 1 character.\nGive 1 or more.")
        if self.weights is not None and self.ancestors:
            raise PolicyError(
                "Weights were asked for together with ancestors, which no line weighs.\nLeave out one of the two."
            )
        if not 0 <= self.least_share <= 1:
            raise PolicyError(f"--min-share was given as {self.min_share}.\nGive a share from 0 to 1.")

    @property
    def least(self) -> int:
        """How many lines, or people, have to say something before it is written."""
        return self.min_count if self.min_count is not None else INSIDER_COUNT if self.insider else 1

    @property
    def least_share(self) -> Fraction:
        """The share of a label's lines, or people, that have to have a term."""
        return exact_fraction(self.min_share, "--min-share")

    @property
    def counts(self) -> bool:
        """Whether lines are counted; else they are taken over as they are."""
        return self.least > 1 or self.least_share > 0 or self.person is not None or self.insider

    def make(self, progress: Progress = SILENT) -> Built:
        """Read the source, count, and return the table."""
        ontology = read_ontology(self.ontology) if self.ontology is not None else None
        aliases = Aliases.read(self.aliases) if self.aliases is not None else Aliases({})
        more = (self.person, None if self.weights == COUNT else self.weights)
        columns = [self.label, self.terms, *(name for name in more if name is not None)]
        lines = read_lines(self.source, columns, [Where.parse(text) for text in self.where], progress)
        labels = lines.texts(self.label)
        if self.label_prefix is not None:
            labels = [None if label is None else label[: self.label_prefix] for label in labels]
        cells = lines.sets(self.terms, self.separator)
        means = {code: self._terms(code, ontology, aliases) for code in {code for cell in cells for code in cell}}
        sets = [[term for code in cell for term in means[code]] for cell in cells]
        weighed = self._weighed(lines, labels, sets)
        if weighed:  # what never goes together is no pair
            sets = [
                [term for term in own if weighed.get((label or "", term), 1)]
                for label, own in zip(labels, sets, strict=True)
            ]
        persons = lines.texts(self.person) if self.person is not None else None
        said = list(counted_lines(labels, sets, persons))
        if not said:
            raise DataError(f"{self.source} was to give a knowledge table, but no line has a label.\nName its column.")
        # A label on several lines of sets keeps as many rows, as [knowledge] reads them, unless lines are counted.
        repeated = len({label for label, _ in said}) < len(said)
        keeps_rows = repeated and not self.counts and self.weights is None and any(len(cell) > 1 for cell in cells)
        in_order = sorted(set(said), key=lambda line: (line[0], sorted(line[1])))
        rows = [Row(*line) for line in in_order] if keeps_rows else list(self._counted(said))
        if not any(row.terms for row in rows):
            raise DataError(
                f"A knowledge table was to be made of {self.source}, but no term goes with a label often enough "
                f"(min-count {self.least:,}, min-share {float(self.least_share):g}).\nAsk for less, or name other "
                "columns."
            )
        if self.weights == COUNT:
            total = Counter(label for label, _ in said)
            weighed = {(row.label, term): Fraction(n, total[row.label]) for row in rows for term, n in row.said.items()}
        kept = [row.under_all_names(aliases, weighed) for row in rows]
        return Built(self, tuple(kept), self._provenance(lines, ontology, aliases, said, kept))

    def _terms(self, written: str, ontology: Ontology | None, aliases: Aliases) -> list[str]:
        """Return what a term stands for, each term once."""
        codes = [written]
        if ontology is not None:
            today = ontology.today.get(written, written)
            codes = list(ontology.with_ancestors(today)) if self.ancestors else [today]
            if self.names:
                codes = [ontology.called(code) for code in codes]
        if self.terms_prefix:
            codes = [code[:length] for code in codes for length in self.terms_prefix]
        return list(dict.fromkeys(aliases.term(code) for code in codes))

    def _weighed(
        self, lines: Lines, labels: Sequence[str | None], sets: Sequence[Sequence[str]]
    ) -> dict[tuple[str, str], Fraction]:
        """Return how often each term goes with its label, as lines say it: the mean, where several do."""
        if self.weights is None or self.weights == COUNT:
            return {}
        otherwise = None if self.missing_weight is None else exact_fraction(self.missing_weight, "--missing-weight")
        given = [otherwise if text is None else frequency(text) for text in lines.texts(self.weights)]
        if wrong := sum(weight is None or not 0 <= weight <= 1 for weight in given):
            raise DataError(
                f"Column {self.weights!r} was to weigh terms, but {wrong:,} of {len(given):,} cells are no share, "
                "percentage or frequency of HPO.\nCorrect them, or say with --missing-weight what empty cells mean."
            )
        said: dict[tuple[str, str], list[Fraction]] = {}
        for label, own, weight in zip(labels, sets, given, strict=True):
            if label is not None and weight is not None:
                for term in own:
                    said.setdefault((label, term), []).append(weight)
        return {pair: sum(weights, Fraction(0)) / len(weights) for pair, weights in said.items()}

    def _counted(self, said: Sequence[tuple[str, frozenset[str]]]) -> Iterator[Row]:
        """Yield one row for each label: the terms that enough of its lines have."""
        total = Counter(label for label, _ in said)
        together = Counter((label, term) for label, terms in said for term in terms)
        terms_of: dict[str, dict[str, int]] = {label: {} for label in total}
        for (label, term), count in together.items():
            if count >= self.least and count >= self.least_share * total[label]:
                terms_of[label][term] = count
        for label in sorted(terms_of):
            if terms_of[label] or not self.counts:
                yield Row(label, frozenset(terms_of[label]), terms_of[label])

    def _provenance(
        self, lines: Lines, ontology: Ontology | None, aliases: Aliases, said: Sequence[Any], rows: Sequence[Row]
    ) -> dict[str, Any]:
        files = {"source": (self.source, lines.sha256)}
        if ontology is not None and self.ontology is not None:
            files["ontology"] = (self.ontology, ontology.sha256)
        if self.aliases is not None:
            files["aliases"] = (self.aliases, aliases.sha256)
        labels = {row.label for row in rows}
        terms = {term for row in rows for term in row.terms}
        return {
            "format": FORMAT,
            "made_by": f"sfumato {__version__}",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "knows": INSIDER if self.insider else PUBLIC,
            "sources": [{"as": place, "file": path.name, "sha256": sha256} for place, (path, sha256) in files.items()],
            "label": self.columns[0],
            "terms": self.columns[1],
            "separator": None if all(row.counts is not None for row in rows) else SEPARATOR,
            "read": {"label": self.label, "terms": self.terms, "separator": self.separator, "person": self.person},
            "where": [str(where) for where in lines.where],
            "min_count": self.least,
            "min_share": str(self.least_share),
            "counted": "people" if self.person is not None else "lines",
            "weights": self.weights,
            "missing_weight": None if self.missing_weight is None else str(self.missing_weight),
            "ancestors": self.ancestors,
            "names": self.names,
            "label_prefix": self.label_prefix,
            "terms_prefix": list(self.terms_prefix),
            "lines": {"found": lines.rows, "kept": lines.table.num_rows},
            "labels": {"found": len({label for label, _ in said}), "kept": len(labels)},
            "terms_kept": len(terms),
            "pairs": {
                "found": len({(label, term) for label, own in said for term in own}),
                "kept": sum(len(row.terms) for row in rows),
            },
        }

    @property
    def columns(self) -> tuple[str, str]:
        """The columns of labels and terms of what is written."""
        if self.label == self.terms or {COUNT, WEIGHT} & {self.label, self.terms}:
            return "label", "term"
        return self.label, self.terms


def lengths(text: str) -> tuple[int, ...]:
    """Return numbers of characters that were written with commas between them.

    >>> lengths("3,5"), lengths("")
    ((3, 5), ())
    """
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isdigit() for part in parts):
        raise PolicyError(f"--terms-prefix was given as {text!r}.\nWrite numbers of characters, such as 3,5.")
    return tuple(map(int, parts))


def provenance_of(table: Path) -> Path:
    """Return the file beside a table that says where it came from."""
    return table.with_suffix(".json")


def _is_ours(beside: Path) -> bool:
    """Whether a file says of a table that it was built here."""
    try:
        return "made_by" in json.loads(beside.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


@dataclass(frozen=True)
class Row:
    """A label and its terms; with how many lines, or people, say so, where they were counted."""

    label: str
    terms: frozenset[str]
    counts: Mapping[str, int] | None = field(default=None, hash=False)
    weights: Mapping[str, Fraction] | None = field(default=None, hash=False)

    @property
    def said(self) -> Mapping[str, int]:
        """How many lines, or people, say each term; nothing where they were not counted."""
        return self.counts or {}

    def under_all_names(self, aliases: Aliases, weighed: Mapping[tuple[str, str], Fraction]) -> Row:
        """Return the row with every name of its terms, and their weights."""
        names = aliases.all_names(self.terms)
        counts = None if self.counts is None else aliases.spread(self.counts)
        weights = {name: weighed[self.label, aliases.term(name)] for name in names} if weighed else None
        return Row(self.label, names, counts, weights)


@dataclass(frozen=True, eq=False)
class Built:
    """A knowledge table, and where it came from."""

    asked: Build
    rows: tuple[Row, ...]
    provenance: Mapping[str, Any]

    def text(self) -> str:
        """Return the table as CSV: one term a line, with its count; or sets, where labels keep several rows."""
        into = io.StringIO()
        writer = csv.writer(into, lineterminator="\n")
        label, terms = self.asked.columns
        if self.provenance["separator"] is None:
            weighed = self.asked.weights is not None
            writer.writerow([label, terms, COUNT, *([WEIGHT] if weighed else [])])
            for row in self.rows:
                for term in sorted(row.terms):
                    weight = [str(row.weights[term])] if row.weights else []
                    writer.writerow([row.label, term, row.said[term], *weight])
                if not row.terms:
                    writer.writerow([row.label, "", "", *([""] if weighed else [])])
        else:
            writer.writerow([label, terms])
            writer.writerows([row.label, SEPARATOR.join(sorted(row.terms))] for row in self.rows)
        return into.getvalue()

    def as_toml(self, out: Path) -> str:
        """Return what a plan beside which the table lies says of it."""
        label, terms = (json.dumps(column, ensure_ascii=False) for column in self.asked.columns)
        separator = "" if self.provenance["separator"] is None else f'\nseparator = "{SEPARATOR}"'
        weights = "" if self.asked.weights is None else f'\nweights = "{WEIGHT}"'
        return f'[knowledge]\npath = "{out.as_posix()}"\nlabel = {label}\nterms = {terms}{separator}{weights}'

    def write(self, out: Path, *, overwrite: bool = False) -> Path:
        """Write the table, and where it came from beside it; return where that is."""
        beside = provenance_of(out)
        if out.suffix != ".csv":
            raise OutputError(f"The knowledge table was to be written to {out}.\nGive a name that ends in .csv.")
        if (out.is_file() or beside.is_file()) and not _is_ours(beside):
            raise OutputError(f"{out} is there, not made by `sfumato knowledge build`: it stays.\nName another file.")
        out.parent.mkdir(parents=True, exist_ok=True)
        content = self.text().encode()
        origin = {**self.provenance, "sha256": hashlib.sha256(content).hexdigest()}
        with atomic_file(out, overwrite=overwrite) as temporary:
            temporary.write_bytes(content)
        with atomic_file(beside, overwrite=True) as temporary:
            temporary.write_text(json.dumps(origin, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return beside

    def sentences(self) -> Iterator[str]:
        """Yield what whoever builds it should know: counts, no values."""
        found = self.provenance
        counted = found["counted"]
        yield (
            f"{found['labels']['kept']:,} labels with {found['terms_kept']:,} terms, {found['pairs']['kept']:,} pairs "
            f"of {found['pairs']['found']:,}, from {found['lines']['kept']:,} of {found['lines']['found']:,} lines."
        )
        if found["where"]:
            yield f"Only lines with {' and '.join(found['where'])} count."
        if self.asked.counts:
            share = f" and {float(self.asked.least_share):.3g} of the label's" if self.asked.least_share else ""
            yield f"A term belongs to a label when at least {found['min_count']:,} {counted}{share} say so."
        if left := found["labels"]["found"] - found["labels"]["kept"]:
            yield f"{left:,} labels are left out: none of their terms is said often enough."
        if found["knows"] == INSIDER:
            yield "This is what an insider knows: keep it in the house, and judge by what is public as well."
