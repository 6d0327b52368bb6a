"""Ontologies: what a term is called, and what is above it.

Two ways of writing are read: OBO, as ontologies are exchanged (`hp.obo`), and a table with a column of terms, one of
their `parents`, several with | between, and perhaps one of their names (`name`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.data.files import Source, read_digested
from sfumato.data.files.text import opened
from sfumato.errors import DataError

_PARENTS, _NAME = "parents", "name"


@dataclass(frozen=True, eq=False)
class Ontology:
    """Terms by their code; obsolete ones are left out, and codes of before lead to those of today."""

    parents: Mapping[str, tuple[str, ...]]
    name: Mapping[str, str]
    today: Mapping[str, str] = field(default_factory=dict)  # a code of before -> the code that took its place
    sha256: str = ""

    def with_ancestors(self, term: str) -> Iterator[str]:
        """Yield a term and everything above it, each once.

        >>> tree = Ontology({"spasm": ("seizure",), "seizure": ("All",)}, {})
        >>> sorted(tree.with_ancestors("spasm"))
        ['All', 'seizure', 'spasm']
        """
        seen, open_ = set(), [term]
        while open_:
            code = open_.pop()
            if code not in seen:
                seen.add(code)
                yield code
                open_.extend(self.parents.get(code, ()))

    def called(self, code: str) -> str:
        """Return the name of a term, or its code where it has none."""
        return self.name.get(code, code)


def read_ontology(path: Path) -> Ontology:
    """Read an ontology from an OBO file or from a table of terms and their parents."""
    if ".obo" in path.suffixes:
        return _read_obo(path)
    table, sha256 = read_digested(Source(path=path).as_spelled)
    if _PARENTS not in table.column_names:
        raise DataError(
            f"{path} was to be an ontology, but has no column {_PARENTS!r}, and its name does not end in .obo.\n"
            "Give an OBO file, or a table with the terms in its first column and their parents in another."
        )
    codes = [str(code or "").strip() for code in table.column(0).to_pylist()]
    above = [str(cell or "").split("|") for cell in table.column(_PARENTS).to_pylist()]
    names = table.column(_NAME).to_pylist() if _NAME in table.column_names else []
    return Ontology(
        {code: tuple(filter(None, map(str.strip, cell))) for code, cell in zip(codes, above, strict=True)},
        {code: str(name).strip() for code, name in zip(codes, names, strict=False) if name},
        sha256=sha256,
    )


def _read_obo(path: Path) -> Ontology:
    found = hashlib.sha256()
    parents: dict[str, tuple[str, ...]] = {}
    name: dict[str, str] = {}
    today: dict[str, str] = {}
    with opened(path, found) as stream:
        text = b"".join(stream.blocks()).decode("utf-8")
    for stanza in text.split("\n[")[1:]:
        head, _, body = stanza.partition("]")
        if head != "Term":
            continue
        tags: dict[str, list[str]] = {}
        for line in body.splitlines():
            tag, _, value = line.partition(": ")
            tags.setdefault(tag, []).append(value.partition(" ! ")[0].strip())
        code = tags.get("id", [""])[0].split(" {")[0]
        if not code or tags.get("is_obsolete") == ["true"]:
            if code and "replaced_by" in tags:
                today[code] = tags["replaced_by"][0]
            continue
        parents[code] = tuple(above.split(" {")[0] for above in tags.get("is_a", ()))
        name[code] = tags.get("name", [code])[0]
        today |= dict.fromkeys(tags.get("alt_id", ()), code)
    if not parents:
        raise DataError(f"{path} was to be an ontology in OBO, but has no [Term].\nGive the file as it is published.")
    return Ontology(parents, name, today, found.hexdigest())
