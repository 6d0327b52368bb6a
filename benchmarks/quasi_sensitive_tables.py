"""Whole tables for the quasi-sensitive benchmark: people with terms, releases of them, and what those are worth."""

from __future__ import annotations

import gzip
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from figures import Figures, Table
from made_up_terms import knowledge_table, with_terms
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.anonymizers.term_suppression import TermSuppression
from sfumato.data.dataset import Dataset
from sfumato.data.encoding import encode
from sfumato.data.knowledge import Knowledge, PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.generators import patients
from sfumato.metrics import AverageClassSize, BeliefChange, Ncp, QueryError, TermLoss
from sfumato.models import KAnonymity
from sfumato.models.base import Policy
from sfumato.models.judging.beliefs import estimated_prior
from sfumato.models.qs_closeness import QSCloseness
from sfumato.models.qs_diversity import QSDiversity

CLOSE, DIVERSE = QSCloseness(column="terms", t=0.4), QSDiversity(column="terms", c=1, l=30)
Model = QSCloseness | QSDiversity
BY_LOSS, OF_2006 = Mondrian(), Mondrian(cut="width", categories="order", lookahead=1)


def quasi_identifiers(rows: int, data: Path | None) -> pa.Table:
    """Return eight attributes of Adult where its file is in the data folder, else made-up people; repeated to size."""
    file = data / "adult" / "adult_arx.csv.gz" if data else None
    if file is not None and file.is_file():
        table = pyarrow.csv.read_csv(
            pa.BufferReader(gzip.decompress(file.read_bytes())), parse_options=pyarrow.csv.ParseOptions(delimiter=";")
        ).drop_columns(["salary-class"])
    else:
        table = patients(min(rows, 100_000)).drop_columns(["name", "disease"])
    if rows <= table.num_rows:
        return table.slice(0, rows)
    rng = np.random.default_rng(3)  # one cell in six comes from somebody else, so that copies are not all alike
    donor = np.where(rng.random((table.num_columns, rows)) < 1 / 6, rng.integers(table.num_rows, size=rows), -1)
    own = np.arange(rows) % table.num_rows
    columns = [
        column.take(pa.array(np.where(of < 0, own, of))) for column, of in zip(table.columns, donor, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


@dataclass(frozen=True)
class People:
    """A table of quasi-identifiers and terms, and what is publicly known."""

    dataset: Dataset
    public: PublicInputs
    threads: int

    @classmethod
    def make(cls, knowledge: Knowledge, rows: int, data: Path | None, threads: int, **options: Any) -> People:
        """Join records drawn from a knowledge table to quasi-identifiers."""
        table = quasi_identifiers(rows, data)
        kind = {name: Kind.NUMBER if name == "age" else Kind.CATEGORY for name in table.column_names}
        specs = {name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER, kind=kind[name]) for name in kind}
        specs["terms"] = ColumnSpec(name="terms", role=Role.QUASI_SENSITIVE, kind=Kind.SET)
        dataset = encode(with_terms(table, knowledge, **options), Schema(specs))
        prior = estimated_prior(dataset.columns["terms"], knowledge)
        return cls(dataset, PublicInputs(knowledge, prior), threads)

    @property
    def workplace(self) -> Workplace:
        """Where anonymizers work."""
        return Workplace(threads=self.threads, public=self.public)

    def generalized(self, k: int, *models: Model, mondrian: Mondrian = BY_LOSS) -> Recoding:
        """Return groups of k records, which satisfy the models without any removal; k = 1: as they are."""
        if k == 1 and not models:
            return Recoding()
        return mondrian.anonymize(self.dataset, Policy((KAnonymity(k=k), *models)), Recoding(), self.workplace)

    def suppressed(self, before: Recoding, model: Model, **options: Any) -> Recoding:
        """Return groups with terms removed."""
        return TermSuppression(**options).anonymize(self.dataset, Policy((model,)), before, self.workplace)

    def joint(self, k: int, model: Model, mondrian: Mondrian = BY_LOSS, **options: Any) -> Recoding:
        """Return groups of k records that are cut, and merged again, with the removal of terms in mind."""
        terms, asked = TermSuppression(joint=True, **options), Policy((model,))
        place = replace(self.workplace, crowding=terms.crowding(self.dataset, asked, self.workplace))
        before = mondrian.anonymize(self.dataset, Policy((KAnonymity(k=k),)), Recoding(), place)
        return terms.anonymize(self.dataset, asked, before, place)

    def release(self, recoding: Recoding, model: Model) -> Release:
        """Return what is published, once the audit has passed."""
        release = replace(publish(self.dataset, recoding, []), public=self.public)
        verdict = model.audit(release)
        assert verdict.satisfied, str(verdict)
        return release

    def measured(self, recoding: Recoding, model: Model, queries: int = 0) -> dict[str, Any]:
        """Return what a release loses and gives away."""
        release = self.release(recoding, model)
        belief = BeliefChange().measure(self.dataset, release).facts["after"]
        found = {
            "change": belief["change"]["mean"],
            "distance": belief["distance"]["mean"],
            "group": AverageClassSize().measure(self.dataset, release).value,
            "ncp": Ncp().measure(self.dataset, release).value,
            "T": TermLoss().measure(self.dataset, release).value,
        }
        if queries:
            error = QueryError(queries=queries).measure(self.dataset, release)
            found |= {f"qd={entry['columns']}": entry["mean"] for entry in error.facts["dimensions"]}
        return found


def privacy_and_loss(figures: Figures, people: People, title: str, x: str, models: dict[float, Model]) -> None:
    """Figures 9 to 11: privacy, generalization cost and suppression cost over a parameter, for some k."""
    table = figures.table(title, x, "release", "change of belief", "distance", "mean group", "T")
    groups = {k: people.generalized(k) for k in (1, 2, 5, 10)}
    for value in figures.watch(list(models), x):
        model = models[value]
        for k, before in groups.items():
            name = "removal only" if k == 1 else f"k={k}"
            _privacy_row(table, value, name, people.measured(people.suppressed(before, model), model))
        _privacy_row(table, value, "generalization only", people.measured(people.generalized(1, model), model))
    for y in ("change of belief", "mean group", "T"):
        table.plot(x=x, y=y, by="release", log="y" if y == "mean group" else "")


def _privacy_row(table: Table, value: float, name: str, found: dict[str, Any]) -> None:
    table.row(value, name, found["change"], found["distance"], found["group"], found["T"])


def query_errors(figures: Figures, people: People, queries: int, ks: tuple[int, ...], weights: tuple[int, ...]) -> None:
    """Figure 12, and the one-step variant beside it: what is lost and how wrong counts are, over k."""
    table = figures.table(
        "Figure 12 and joint: loss and query error over k",
        "k", "release", "mean group", "NCP", "T", "NCP + T", "error qd=1", "error qd=3", "error qd=5", "CPU s",
    )  # fmt: skip
    for model, name in ((CLOSE, "t=.4"), (DIVERSE, "(1,30)")):
        for k in figures.watch(ks, name):
            before = people.generalized(k)
            begin = time.process_time()
            recoding = people.suppressed(before, model)
            _error_row(table, k, f"two steps, {name}", people.measured(recoding, model, queries), begin)
            for weight in weights if k > 1 else ():
                begin = time.process_time()
                recoding = people.joint(k, model, weight=weight)
                found = people.measured(recoding, model, queries)
                _error_row(table, k, f"joint, weight {weight}, {name}", found, begin)
        begin = time.process_time()
        recoding = people.generalized(1, model)
        found = people.measured(recoding, model, queries)
        for k in (ks[0], ks[-1]):  # a level line in the plots
            _error_row(table, k, f"generalization only, {name}", found, begin)
    for y in ("error qd=1", "error qd=3", "error qd=5", "NCP + T"):
        table.plot(x="k", y=y, by="release")


def _error_row(table: Table, k: int, name: str, found: dict[str, Any], begin: float) -> None:
    errors = [found.get(f"qd={dimension}") for dimension in (1, 3, 5)]
    seconds = time.process_time() - begin
    table.row(k, name, found["group"], found["ncp"], found["T"], found["ncp"] + found["T"], *errors, seconds)


def cuts_of_2006(figures: Figures, data: Path | None, threads: int, quick: bool) -> None:
    """Groups as the papers make them, halving the widest attribute, and what a little joining does to them.

    Where all groups are proven, no other removal is cheaper; joint cuts with a small weight leave the groups nearly as
    they are.
    """
    table = figures.table(
        "Cuts of 2006, 3,000 rows", "labels", "k", "requirement", "mean group", "T micro", "bound", "proven", "merged",
        "removal s", "generalization only", "joint: mean group", "joint: T micro",
    )  # fmt: skip
    even = {"(1,30)": DIVERSE, "t=.4": CLOSE}
    uneven = {f"t={t}": QSCloseness(column="terms", t=t) for t in (0.4, 0.3, 0.2, 0.15)}
    cases = [(0.0, even, (2, 5, 10, 20)), (1.0, uneven, (5, 10)), (1.5, uneven, (5,))]
    for zipf, models, ks in cases[:2] if quick else cases:
        people = People.make(knowledge_table(), 3000, data, threads, zipf=zipf)
        for k in figures.watch(ks[:2] if zipf == 0 or not quick else (5,), f"Zipf {zipf}"):
            before = people.generalized(k, mondrian=OF_2006)
            for asked, model in models.items():
                recoding, seconds = _timed(people.suppressed, before, model)
                alone = people.generalized(1, model, mondrian=OF_2006)
                joint = people.joint(k, model, OF_2006, weight=0.1).facts["terms"]
                facts = recoding.facts["terms"]
                table.row(
                    f"Zipf {zipf}" if zipf else "even", k, asked, 3000 / facts["groups"], facts["cost"],
                    facts["lower_bound"], facts["proven"], facts["groups_merged"], seconds,
                    3000 / alone.facts["classes"], 3000 / joint["groups"], joint["cost"],
                )  # fmt: skip


def whole_tables(figures: Figures, sizes: dict[str, tuple[Knowledge, int]], data: Path | None, threads: int) -> None:
    """From codes to an audited release: where time goes, what it costs, and how much is proven."""
    table = figures.table(
        "Whole tables", "table", "k", "requirement", "mean group", "T micro", "T macro", "bound", "proven", "merged",
        "prior s", "mondrian s", "removal s", "audit s", "elapsed s",
    )  # fmt: skip
    for name, (knowledge, rows) in figures.watch(sizes.items(), "tables"):
        people, prior = _timed(People.make, knowledge, rows, data, threads)
        for k in (2, 5, 10) if rows < 100_000 else (5,):
            before, cutting = _timed(people.generalized, k)
            for model, asked in ((DIVERSE, "(1,30)"), (CLOSE, "t=.4")):
                clock = time.perf_counter()
                recoding, removing = _timed(people.suppressed, before, model)
                elapsed = time.perf_counter() - clock
                _, auditing = _timed(people.release, recoding, model)
                facts = recoding.facts["terms"]
                table.row(
                    name, k, asked, rows / facts["groups"], facts["cost"], facts["cost_mean_over_groups"],
                    facts["lower_bound"], facts["proven"], facts["groups_merged"], prior, cutting, removing, auditing,
                    elapsed,
                )  # fmt: skip


def real_tables(figures: Figures, data: Path, threads: int, *, quick: bool) -> None:
    """Knowledge tables of the real world; records drawn from them, since real ones are not public."""
    table = figures.table(
        "Real knowledge tables", "table", "k", "requirement", "T micro", "bound", "proven", "removal s",
        "belief before", "belief after",
    )  # fmt: skip
    models = {
        "l=10": QSDiversity(column="terms", c=1, l=10),
        "l=30": DIVERSE,
        "t=.4": CLOSE,
        "t=.3": QSCloseness(column="terms", t=0.3),
        "t=.2": QSCloseness(column="terms", t=0.2),
    }
    for name, knowledge in real_knowledge(data).items():
        people = People.make(knowledge, 1_000 if quick else 20_000, data, threads)
        whole = replace(publish(people.dataset, Recoding(), []), public=people.public)
        before = BeliefChange().measure(people.dataset, whole).facts["before"]["largest_belief"]["mean"]
        for k in figures.watch((5,) if quick else (2, 5, 10), name):
            groups = people.generalized(k)
            for asked, model in models.items():
                recoding, seconds = _timed(people.suppressed, groups, model)
                facts = recoding.facts["terms"]
                after = BeliefChange().measure(people.dataset, people.release(recoding, model)).facts["after"]
                table.row(
                    f"{name}, {knowledge.n_labels:,} labels", k, asked, facts["cost"], facts["lower_bound"],
                    facts["proven"], seconds, before, after["largest_belief"]["mean"],
                )  # fmt: skip


def real_knowledge(data: Path) -> dict[str, Knowledge]:
    """Return the knowledge tables that are in the data folder: HPO annotations, DDXPlus conditions."""
    found: dict[str, Knowledge] = {}
    hpo, ddx = data / "medical" / "hpo_disease_phenotype.csv.gz", data / "medical" / "ddxplus_conditions.csv.gz"
    if hpo.is_file():
        columns = _read(hpo)
        kept = (
            (disease, term)
            for disease, term, aspect, qualifier in zip(
                columns["disease_id"], columns["hpo_id"], columns["aspect"], columns["qualifier"], strict=True
            )
            if aspect == "P" and qualifier != "NOT"
        )
        found["HPO"] = _gathered(kept)
    if ddx.is_file():
        columns = _read(ddx)
        found["DDXPlus"] = _gathered(zip(columns["condition"], columns["evidence_id"], strict=True))
    return found


def _read(path: Path) -> dict[str, list[Any]]:
    return dict(pyarrow.csv.read_csv(pa.BufferReader(gzip.decompress(path.read_bytes()))).to_pydict())


def _gathered(pairs: Any) -> Knowledge:
    """Return one row for each label, of all terms that stand beside it."""
    terms_of: dict[str, list[str]] = {}
    for label, term in pairs:
        terms_of.setdefault(label, []).append(term)
    return Knowledge.from_rows(terms_of.items())


def _timed(work: Any, *arguments: Any) -> tuple[Any, float]:
    """Return what some work gives, and the CPU seconds that it took."""
    begin = time.process_time()
    return work(*arguments), time.process_time() - begin


def default_people(rows: int, data: Path | None, threads: int) -> People:
    """Return the papers' setting: 3,000 labels, nine terms a record."""
    return People.make(knowledge_table(), rows, data, threads)
