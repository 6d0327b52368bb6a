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

import sfumato
from sfumato.data.knowledge import Knowledge
from sfumato.disk import atomic_file
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.knowledge.aliases import Aliases
from sfumato.knowledge.ontology import Ontology, read_ontology
from sfumato.knowledge.sources import Lines, Where, counted_lines, read_lines
from sfumato.parameters import exact_fraction
from sfumato.progress import SILENT, Progress

FORMAT = 1  # of NAME.json
INSIDER_COUNT = 5  # people, at least, behind whatever is written of the data themselves
COUNT = "count"
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
        columns = [self.label, self.terms, *([self.person] if self.person is not None else [])]
        lines = read_lines(self.source, columns, [Where.parse(text) for text in self.where], progress)
        labels = lines.texts(self.label)
        if self.label_prefix is not None:
            labels = [None if label is None else label[: self.label_prefix] for label in labels]
        cells = lines.sets(self.terms, self.separator)
        means = {code: self._terms(code, ontology, aliases) for code in {code for cell in cells for code in cell}}
        sets = [[term for code in cell for term in means[code]] for cell in cells]
        persons = lines.texts(self.person) if self.person is not None else None
        said = list(counted_lines(labels, sets, persons))
        if not said:
            raise DataError(f"{self.source} was to give a knowledge table, but no line has a label.\nName its column.")
        # A label on several lines of sets keeps as many rows, as [knowledge] reads them, unless lines are counted.
        repeated = len({label for label, _ in said}) < len(said)
        keeps_rows = repeated and not self.counts and any(len(cell) > 1 for cell in cells)
        rows = [Row(*line) for line in sorted(set(said), key=_key)] if keeps_rows else list(self._counted(said))
        if not any(row.terms for row in rows):
            raise DataError(
                f"A knowledge table was to be made of {self.source}, but no term goes with a label often enough "
                f"(min-count {self.least:,}, min-share {float(self.least_share):g}).\nAsk for less, or name other "
                "columns."
            )
        kept = [Row(row.label, aliases.all_names(row.terms), row.counts and aliases.spread(row.counts)) for row in rows]
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
            "made_by": f"sfumato {sfumato.__version__}",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "knows": INSIDER if self.insider else PUBLIC,
            "sources": [{"as": place, "file": path.name, "sha256": sha256} for place, (path, sha256) in files.items()],
            "label": self.columns[0],
            "terms": self.columns[1],
            "separator": None if self._long(rows) else SEPARATOR,
            "read": {"label": self.label, "terms": self.terms, "separator": self.separator, "person": self.person},
            "where": [str(where) for where in lines.where],
            "min_count": self.least,
            "min_share": str(self.least_share),
            "counted": "people" if self.person is not None else "lines",
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
        if self.label == self.terms or COUNT in (self.label, self.terms):
            return "label", "term"
        return self.label, self.terms

    def _long(self, rows: Sequence[Row]) -> bool:
        return all(row.counts is not None for row in rows)


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


def _key(line: tuple[str, frozenset[str]]) -> tuple[str, list[str]]:
    return line[0], sorted(line[1])


@dataclass(frozen=True, eq=False)
class Built:
    """A knowledge table, and where it came from."""

    asked: Build
    rows: tuple[Row, ...]
    provenance: Mapping[str, Any]

    @property
    def knowledge(self) -> Knowledge:
        """The table as audits use it."""
        return Knowledge.from_rows((row.label, row.terms) for row in self.rows)

    def text(self) -> str:
        """Return the table as CSV: one term a line, with its count; or sets, where labels keep several rows."""
        into = io.StringIO()
        writer = csv.writer(into, lineterminator="\n")
        label, terms = self.asked.columns
        if self.provenance["separator"] is None:
            writer.writerow([label, terms, COUNT])
            for row in self.rows:
                counts = row.counts or {}
                writer.writerows([row.label, term, counts[term]] for term in sorted(row.terms))
                if not row.terms:
                    writer.writerow([row.label, "", ""])
        else:
            writer.writerow([label, terms])
            writer.writerows([row.label, SEPARATOR.join(sorted(row.terms))] for row in self.rows)
        return into.getvalue()

    def as_toml(self, out: Path) -> str:
        """Return what a plan beside which the table lies says of it."""
        label, terms = (json.dumps(column, ensure_ascii=False) for column in self.asked.columns)
        separator = "" if self.provenance["separator"] is None else f'\nseparator = "{SEPARATOR}"'
        return f'[knowledge]\npath = "{out.as_posix()}"\nlabel = {label}\nterms = {terms}{separator}'

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
        left = found["labels"]["found"] - found["labels"]["kept"]
        if left:
            yield f"{left:,} labels are left out: none of their terms is said often enough."
        if found["knows"] == INSIDER:
            yield "This is what an insider knows: keep it in the house, and judge by what is public as well."
