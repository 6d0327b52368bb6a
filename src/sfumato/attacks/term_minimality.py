from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Asked, Attack, Finding
from sfumato.attacks.knowledge_linking import known_terms, terms_of
from sfumato.data.dataset import CodedSets, starts_of
from sfumato.data.knowledge import Knowledge
from sfumato.data.release import Release
from sfumato.models.judging.beliefs import beliefs
from sfumato.models.judging.classes import classes_of
from sfumato.models.judging.links import Index
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity

MODELS: dict[str, type[QSDiversity | QSCloseness]] = {model.name: model for model in (QSDiversity, QSCloseness)}
TRIED = 200_000  # rows of groups with a term put back that are judged; groups beyond are not looked at


@dataclass(frozen=True, kw_only=True)
class TermMinimality(Attack):
    """Put a term back into each record in turn: where the group would still be safe, nothing was removed from it.

    Whoever knows the requirement, and that no more is removed than needed, tells groups that lost terms from groups
    that did not: of people in the latter, it is known that they have none of the terms which somebody else may have.
    A margin (`[anonymizers.term-suppression] margin`) makes some groups safer than asked, so that this no longer
    follows. The intruder knows its share m, which release.json tells. If T of n groups are at the edge, about
    T / (1 - m) of all were, so a share m of these stands among the n - T others, and has lost terms.

    >>> from sfumato.data.knowledge import PublicInputs
    >>> rows = [("flu", ["cough", "ache"]), ("cold", ["cough"]), ("gout", ["ache"])]
    >>> public = PublicInputs(Knowledge.from_rows(rows))
    >>> table = {"age": ["20", "30", "30", "30"], "symptoms": [["cough"], ["cough"], ["ache"], ["cough"]]}
    >>> description = {"models": [{"model": "qs-diversity", "column": "symptoms", "c": 2, "l": 2}]}
    >>> release = Release.of(table, age="quasi-identifier", symptoms="quasi-sensitive")
    >>> release = replace(release, description=description, public=public)
    >>> print(TermMinimality().on(release))  # at 20, an ache would give the flu away; at 30, nothing would
    3 of 4 exposed, confidence up to 100 %
    """

    name: ClassVar[str] = "term-minimality"
    on_demand: ClassVar[bool] = True
    title: ClassVar[str] = "Reading from what could still be shown that nothing was withheld"
    intruder: ClassVar[str] = (
        "Knows the requirement and that no more terms are removed than needed, takes a person's terms to be "
        "explained by a label, finds the group, puts one term after the other back, and believes that nothing was "
        "removed where the group would still be safe."
    )

    @classmethod
    def suited_to(cls, release: Release, asked: Asked) -> Iterator[Self]:
        """Yield one attack where a release says what was required of its terms."""
        if release.public.knowledge is not None and terms_of(release) is not None and _required(release):
            yield cls(threshold=asked.threshold)

    def on(self, table: Release) -> Finding:
        """Attack a table as published; one that says of no requirement is published as it is, which tells nothing."""
        knowledge, terms = known_terms(table, "put back")
        classes = classes_of(table)
        people, required = int(classes.size.sum()), _required(table)
        if not required:
            return Finding(people=people, exposed=0, worst=0.0, facts={"looked_at": 0})
        looked_at, edge = _at_the_edge(table, classes.class_of, classes.size, terms, knowledge, required)
        share = _margin(table.description, terms.name)
        n, at_edge = looked_at.size, int(edge.sum())
        lost = min(at_edge / (1 - share), n) if n else 0.0
        sure = max(0.0, 1 - share * lost / (n - at_edge)) if n > at_edge else 0.0
        free = int(classes.size[looked_at[~edge]].sum())
        seen = int(classes.size[looked_at].sum())
        return Finding(
            people=people,
            exposed=round(free * people / seen) if seen and sure > self.threshold else 0,
            worst=sure,
            mean=sure * free / seen if seen else None,
            facts={"groups": int(classes.size.size), "looked_at": int(n), "at_the_edge": at_edge, "margin": share},
        )

    def guess(self, table: Release) -> Finding | None:
        """Believe nothing about what was withheld."""
        return Finding(people=table.total, exposed=0, worst=0.0, mean=0.0)


def _required(table: Release) -> list[QSDiversity | QSCloseness]:
    """Return what a release says was required of its terms."""
    found = []
    for said in table.description.get("models", ()):
        if isinstance(said, Mapping) and said.get("model") in MODELS:
            parameters: dict[str, Any] = {key: value for key, value in said.items() if key != "model"}
            columns = parameters.get("column")
            parameters["column"] = tuple(columns) if isinstance(columns, list) else columns
            found.append(MODELS[said["model"]](**parameters))
    return found


def _margin(description: Mapping[str, Any], name: str) -> float:
    columns = description.get("columns", {})
    said = [columns.get(each, {}).get("margin", 0.0) for each in name.split(" + ")]
    return max((float(each) for each in said if isinstance(each, int | float)), default=0.0)


def _at_the_edge(
    table: Release,
    class_of: NDArray[np.int32],
    size: NDArray[np.int64],
    terms: CodedSets,
    knowledge: Knowledge,
    required: list[QSDiversity | QSCloseness],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the groups that were looked at, and which of them one term more would make unsafe."""
    rows_of = np.split(np.argsort(class_of, kind="stable"), np.cumsum(size)[:-1])
    own = [frozenset(terms.labels[item] for item in terms.items[a:b]) for a, b in itertools.pairwise(terms.start)]
    fitting = _Fitting(knowledge)
    looked_at: list[int] = []
    place_of_try: list[int] = []  # of each way to put a term back: which of the groups it is about
    try_of: list[int] = []  # of each record of such a group
    records: list[frozenset[str]] = []
    for group in np.random.default_rng(0).permutation(size.size).tolist():
        members = [own[row] for row in rows_of[group].tolist()]
        ways = [(members.index(have), term) for have in dict.fromkeys(members) for term in fitting.terms(have)]
        if looked_at and len(records) + len(ways) * len(members) > TRIED:
            break
        for at, term in ways:
            try_of.extend([len(place_of_try)] * len(members))
            records.extend(have | {term} if place == at else have for place, have in enumerate(members))
            place_of_try.append(len(looked_at))
        looked_at.append(group)
    edge = np.zeros(len(looked_at), dtype=np.bool_)
    place, numbers = np.array(place_of_try, dtype=np.int64), np.array(try_of, dtype=np.int32)
    for found in beliefs(numbers, place.size, _coded(records, terms), Index(knowledge)):
        for model in required:
            edge[place[found.group[~model.holds(found, table.public)]]] = True
    return np.array(looked_at, dtype=np.int64), edge


class _Fitting:
    """Finds the terms that a record could have besides its own, so that some label still explains it."""

    def __init__(self, knowledge: Knowledge) -> None:
        ends = itertools.pairwise(knowledge.start.tolist())
        self.rows = [frozenset(knowledge.terms[term] for term in knowledge.items[a:b].tolist()) for a, b in ends]
        self.found: dict[frozenset[str], list[str]] = {}

    def terms(self, have: frozenset[str]) -> list[str]:
        """Return them in order."""
        if have not in self.found:
            self.found[have] = sorted({term for row in self.rows if have <= row for term in row - have})
        return self.found[have]


def _coded(records: list[frozenset[str]], like: CodedSets) -> CodedSets:
    """Return records as a column of sets."""
    labels = tuple(sorted({term for record in records for term in record}))
    code = {label: number for number, label in enumerate(labels)}
    items = np.array([code[term] for record in records for term in sorted(record)], dtype=np.int32)
    start = starts_of([len(record) for record in records])
    return replace(like, items=items, start=start, labels=labels)
