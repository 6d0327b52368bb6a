"""Spellings of one value: texts that are equal in Unicode's composed form (NFC), without blanks around, in any case.

Two spellings of one illness would count as two illnesses, and those of one person's number as two people. So columns
whose values are judged have one spelling of each value, else a plan is refused. With `[source] normalize = true` every
spelling is read as the one that the plan uses, else as the most frequent one. What is published shows that one alone,
so a release is safe whether the spellings meant one value or several. Nothing here depends on rows: only distinct
values are looked at, with their counts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.data.builders import Given, HierarchyFile, NestedHierarchy
from sfumato.data.dataset import CodedColumn, CodedSets, as_arrow, as_numpy
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.kinds import is_text
from sfumato.data.schema import ColumnSpec, Role
from sfumato.errors import DataError

# Whose values requirements count. Several spellings in a quasi-identifier only make classes smaller; of terms, a
# knowledge table tells which spellings it knows, and what becomes of the others (`Coverage`).
JUDGED_ROLES = frozenset({Role.SENSITIVE, Role.SENSITIVE_QUASI_IDENTIFIER, Role.ITEMS})
REMEDY = "Write normalize = true under [source], which reads each value in one spelling, or correct the spellings."
# Invisible letters, and what stands between a letter and another letter or digit: 1.5 and 15 stay apart, A+ and A- too.
_INVISIBLE = r"\p{Cf}+"
_BETWEEN = r"[\s\p{Z}\p{Pd}_./,']+"
_BEHIND_A_LETTER = rf"(\pL){_BETWEEN}([\pL\p{{Nd}}])"
_BEHIND_A_DIGIT = rf"(\p{{Nd}}){_BETWEEN}(\pL)"


@dataclass(frozen=True)
class Variants:
    """The values of a column that have several spellings: of each, the one that is kept, and the others."""

    others: Mapping[str, tuple[str, ...]]

    @property
    def kept(self) -> dict[str, str]:
        """The spelling that is kept, by each of the others."""
        return {other: kept for kept, others in self.others.items() for other in others}

    @property
    def counts(self) -> str:
        """How many there are, in words."""
        spellings = len(self.others) + sum(map(len, self.others.values()))
        return (
            f"{len(self.others):,} value(s) in {spellings:,} spellings, which differ only in case, in blanks around "
            "them or in their form in Unicode"
        )

    def refuse(self, column: str) -> None:
        """Raise with how many they are."""
        raise DataError(f"Column {column!r} was to be judged by its values, but it has {self.counts}.\n{REMEDY}")


def is_judged(spec: ColumnSpec) -> bool:
    """Whether a column must show each of its values in one spelling."""
    return spec.role in JUDGED_ROLES or (spec.role is Role.QUASI_SENSITIVE and spec.present is not None)


def keys_of(texts: pa.Array) -> pa.Array:
    r"""Return for each text what is equal in all spellings of its value.

    >>> keys_of(pa.array(["HIV", " hiv\u00a0", "Me\u0301nie\u0300re", "M\u00e9ni\u00e8re"])).unique().to_pylist()
    ['hiv', 'ménière']
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    if pc.all(pc.string_is_ascii(trimmed), min_count=0).as_py():
        return pc.ascii_lower(trimmed)
    return pa.array([_key(text) for text in trimmed.to_pylist()], pa.string())


def _key(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).strip()


def variants_among(texts: pa.Array, counts: NDArray[np.int64], known: Iterable[str] = ()) -> Variants | None:
    """Return which of distinct texts spell a value in several ways, or otherwise than the plan does; None where none.

    counts: how often each text occurs. `known` are words of the plan: of a value that it spells, its spelling is kept.

    >>> variants_among(pa.array(["flu", "Flu", "HIV"]), np.array([2, 5, 1]), ["hiv"])
    Variants(others={'Flu': ('flu',), 'hiv': ('HIV',)})
    """
    keys = keys_of(texts).dictionary_encode()
    key_of = as_numpy(keys.indices)
    in_question = np.bincount(key_of, minlength=len(keys.dictionary)) > 1
    words = list(dict.fromkeys(known))
    words_of: dict[int, list[str]] = {}
    places = pc.index_in(keys_of(pa.array(words, pa.string())), value_set=keys.dictionary).to_pylist()
    for word, place in zip(words, places, strict=True):
        if place is not None:
            words_of.setdefault(place, []).append(word)
            in_question[place] = True
    chosen = np.flatnonzero(in_question[key_of])
    often: dict[int, dict[str, int]] = {}
    for at, text in zip(chosen.tolist(), texts.take(as_arrow(chosen)).to_pylist(), strict=True):
        often.setdefault(int(key_of[at]), {})[text] = int(counts[at])
    others = {}
    for place, found in often.items():
        own = words_of.get(place, ())
        if len(found) > 1 or not set(found) <= set(own):
            kept = min(own or found, key=lambda text: (-found.get(text, 0), text))
            others[kept] = tuple(sorted(set(found) - {kept}))
    return Variants(others) if others else None


def words_of_plan(spec: ColumnSpec, missing: Iterable[str]) -> list[str]:
    """Return the words by which a plan takes values of a column for something: missing, present, sensitive."""
    items = spec.sensitive_items if isinstance(spec.sensitive_items, tuple) else ()
    domain = spec.domain if spec.domain is not None and spec.bins is None else ()
    return [*missing, *domain, *items, *(spec.present or ())]


def given_hierarchy(spec: ColumnSpec) -> Hierarchy | None:
    """Return the hierarchy of a column whose words the plan spells; None where it is derived from the values."""
    if not isinstance(spec.hierarchy, HierarchyFile | NestedHierarchy | Given):
        return None
    return spec.hierarchy.build((), f"The hierarchy of column {spec.name!r}", secret=spec.secret)


def variants_in_release(labels: Iterable[str], spec: ColumnSpec, missing: Iterable[str]) -> Variants | None:
    """Return which values a published column shows in several spellings, or otherwise than the plan spells a secret.

    Groups of a hierarchy are no values: a group may have the name of a value in it.
    """
    texts, words = pa.array(list(labels), pa.string()), words_of_plan(spec, missing)
    found = variants_among(texts, np.ones(len(texts), dtype=np.int64), words)
    if found is None or (hierarchy := given_hierarchy(spec)) is None:
        return found
    groups = set(hierarchy.labels[hierarchy.n_leaves :])
    texts = pa.array([label for label in texts.to_pylist() if label not in groups], pa.string())
    return variants_among(texts, np.ones(len(texts), dtype=np.int64), words)


def look_alike(texts: pa.Array) -> int:
    r"""Return how many distinct texts are like another one but for invisible letters, blanks and signs between letters.

    >>> look_alike(pa.array(["P-1", "P1", "P\u200b1", "P2"]))
    3
    >>> look_alike(pa.array(["1.5", "15", "-1", "1", "A+", "A-", "<=50K", ">50K"]))
    0
    """
    length = pc.min_max(pc.utf8_length(texts))
    if length["min"].as_py() == length["max"].as_py():  # such as numbers that a program made
        return 0
    keys = keys_of(texts)
    plain = pc.replace_substring_regex(keys, _INVISIBLE, "")
    for pattern in (_BEHIND_A_LETTER, _BEHIND_A_LETTER, _BEHIND_A_DIGIT):  # twice: in a-b-c, b is behind and before
        plain = pc.replace_substring_regex(plain, pattern, r"\1\2")
    if pc.all(pc.equal(plain, keys), min_count=0).as_py():
        return 0
    often = np.bincount(as_numpy(plain.dictionary_encode().indices))
    return int(often[often > 1].sum())


def spelling_sentences(column: CodedColumn | CodedSets) -> list[str]:
    """Return what deserves a second look in the spelling of a coded column, in counts."""
    found = []
    if column.spellings:
        found.append(
            f"Column {column.name!r} has {Variants(column.spellings).counts}. Each value is read in one spelling and "
            "published in that one; the private report lists them."
        )
    ordered = isinstance(column, CodedColumn) and (column.values is not None or column.dates)
    if column.role in JUDGED_ROLES and is_text(column.type) and not ordered:
        found += look_alike_sentence(column.name, pa.array(column.labels, pa.string()))
    return found


def look_alike_sentence(column: str, texts: pa.Array) -> list[str]:
    """Return what deserves a second look in the spelling of a column, if anything does."""
    count = look_alike(texts)
    if not count:
        return []
    return [
        f"Column {column!r} has {count:,} values that differ from another value only in blanks, signs or invisible "
        "characters. They count as different values. Correct the table if they mean the same."
    ]
