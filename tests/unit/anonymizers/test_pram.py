"""Post randomization against the definition, and what a release of it says to audits, attacks, analysts and holders."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.pram import Matrix, draw, largest_p, rounded_shares
from sfumato.anonymizers.randomization.domains import on_public_grid
from sfumato.anonymizers.randomization.parameters import hierarchical, ordered
from sfumato.attacks.random_sets import Intersection, SecondRelease, SetInference
from sfumato.data import keystream
from sfumato.data.base_rates import BaseRates
from sfumato.data.encoding import encode
from sfumato.data.files.release import schema_for
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.release import Release
from sfumato.errors import DataError, PlanError
from sfumato.estimators import ESTIMATORS, Axis
from sfumato.estimators.kronecker import error_of, unmixed
from sfumato.estimators.likelihood import Likelihood
from sfumato.estimators.paper import bayes_step
from sfumato.estimators.queries import query
from sfumato.metrics.suppression import Suppression
from sfumato.models import LocalDifferentialPrivacy, SensitiveQidCloseness, SensitiveQidDiversity
from sfumato.models.judging.worst_sets import hierarchical_edges, ordered_edges
from sfumato.models.judging.worst_values import replaced_distance
from sfumato.pipeline.case import Case
from sfumato.report.randomized import content

JOBS, TOWNS = tuple("abcde"), tuple("stu")
TREE = Hierarchy.from_nested({"x": ["a", "b"], "y": ["c", "d", "e"]})
COUNTS = st.lists(st.integers(0, 40), min_size=2, max_size=5).filter(any)
CHANCES = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20), max_denominator=20)


def plan_of(t, columns=None, **more):
    domains = {"job": JOBS, "town": TOWNS}
    declared = {
        name: {"role": "sensitive-quasi-identifier", "domain": list(domain)}
        for name, domain in domains.items()
        if name in t
    }
    return sf.Plan.from_dict(
        {
            "columns": {**declared, **(columns or {}), "*": {"role": "other"}},
            "require": [{"model": "sensitive-qid-closeness", "t": t, "anonymizer": "pram", **more}],
            "anonymizers": {"pram": {"dependence": "allow"}},
        }
    )


def people(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    job = rng.choice(5, n, p=[0.5, 0.3, 0.15, 0.05, 0])
    town = np.where(rng.random(n) < 0.6, job % 3, rng.integers(0, 3, n))
    return pa.table({"job": np.array(JOBS)[job], "town": np.array(TOWNS)[town], "number": np.arange(n)})


def true_counts(table):
    jobs = table["job"].to_pylist()
    return np.array([jobs.count(job) for job in JOBS])


def seen(run, table):
    """The release as an outsider gets it, with the base rates that everybody knows."""
    description = run.release.description
    known = {name: BaseRates(weight=_counted(table[name].to_pylist()), counted=True) for name in ("job", "town")}
    release = Release.from_table(run.release.data, schema_for(description, None), description)
    return replace(release, public=PublicInputs(base_rates=known))


def _counted(values):
    return {value: values.count(value) for value in sorted(set(values))}


def belief(prior, shown, p, shares):
    """By Bayes' rule, from the row of each value of the matrix."""
    joint = [known * (p * (value == shown) + (1 - p) * shares[shown]) for value, known in enumerate(prior)]
    return [each / sum(joint) for each in joint]


def distance_of(one, two, distance):
    """The earth mover's distance, from flows over the edges of the order or the tree."""
    if distance == "equal":
        return sum(abs(a - b) for a, b in zip(one, two, strict=True)) / 2
    gaps = [a - b for a, b in zip(one, two, strict=True)]
    if distance == "ordered":
        return sum(abs(sum(gaps[:end])) for end in range(1, len(gaps))) / (len(gaps) - 1)
    edges = hierarchical_edges(TREE, JOBS[: len(one)])
    return sum(
        Fraction(float(length)) * abs(sum(gap for gap, inside in zip(gaps, behind, strict=True) if inside))
        for behind, length in zip(edges.behind, edges.length, strict=True)
    )


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(counts=COUNTS, t=CHANCES, distance=st.sampled_from(["equal", "ordered", "hierarchical"]))
def test_p_is_the_largest_with_which_no_shown_value_moves_the_belief_farther_than_t(counts, t, distance):
    counts, d = np.array(counts), len(counts)
    units = rounded_shares(counts)
    shares = [Fraction(int(unit), int(units.sum())) for unit in units]
    prior = [Fraction(int(count), int(counts.sum())) for count in counts]
    edges = {"equal": None, "ordered": ordered(d), "hierarchical": hierarchical(TREE, JOBS[:d])}[distance]
    p = largest_p(counts, units, t, edges)

    def farthest(p):
        shown = [value for value in range(d) if prior[value] and (p or shares[value])]
        return max(distance_of(belief(prior, value, p, shares), prior, distance) for value in shown)

    assert farthest(p) <= t + Fraction(1, 10**12)
    if p < Fraction("0.9999"):
        assert farthest(min(p + Fraction(1, 10_000), Fraction(1))) > t
    judged = {"equal": None, "ordered": ordered_edges(d), "hierarchical": hierarchical_edges(TREE, JOBS[:d])}[distance]
    assert float(replaced_distance(counts, p, shares, judged)) == pytest.approx(float(farthest(p)), abs=1e-12)


@given(counts=st.lists(st.integers(0, 10**6), min_size=2, max_size=3000).filter(any))
def test_published_shares_add_up_and_leave_nobody_out_who_occurs(counts):
    counts = np.array(counts)
    units = rounded_shares(counts)
    whole = int(units.sum())
    assert whole in (10_000, 100_000)
    assert ((units > 0) == (counts > 0)).all()
    if counts[counts > 0].min() * whole >= counts.sum():
        assert (np.abs(units - counts * whole / counts.sum()) < 1).all()


def test_cells_show_single_values_and_the_release_says_how_they_were_drawn_and_no_more():
    table = people()
    run = sf.anonymize(table, plan_of({"job": 0.3, "town": 0.4}), seed=7)
    about = run.release.description["columns"]["job"]
    assert set(about) == {"role", "kind", "domain", "p", "shares", "t", "distance", "prior", "base_rates"}
    assert about["domain"] == list(JOBS)
    assert about["base_rates"]["values"] == dict(zip(JOBS, on_public_grid(true_counts(table)).tolist(), strict=True))
    assert 0 < about["shares"][4] < 44 / 2000  # a value that does not occur cannot be told from a rare one
    assert sum(map(Fraction, map(str, about["shares"]))) == 1
    assert run.release.description["test_only"] is True
    assert set(run.release.data["job"].to_pylist()) <= set(JOBS)
    assert set(map(type, run.release.data["job"].to_pylist())) == {str}
    (verdict,) = run.verdicts
    assert verdict.satisfied
    assert verdict.facts["columns"]["job"]["moved"] < 5 * 44 / 2000  # invariant but for steps of the grid of counts


def test_a_seed_repeats_a_release_and_no_seed_does_not():
    table, plan = people(300), plan_of({"job": 0.3})
    one, two = (sf.anonymize(table, plan, seed=3).release.data for _ in range(2))
    assert one.equals(two)
    assert not sf.anonymize(table, plan).release.data.equals(sf.anonymize(table, plan).release.data)


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_a_larger_p_than_was_drawn_or_allowed_fails(distance):
    table = people()
    run = sf.anonymize(table, plan_of({"job": 0.3}, distance=distance))
    model, release = SensitiveQidCloseness(t={"job": 0.3}, distance=distance), seen(run, table)
    assert model.audit(release).satisfied
    columns = release.description["columns"]
    for change in ({"p": columns["job"]["p"] + 0.0002}, {"shares": [0.53, 0.3, 0.15, 0.02, 0]}):
        claimed = {**release.description, "columns": {**columns, "job": columns["job"] | change}}
        assert not model.audit(replace(release, description=claimed)).satisfied
    assert not SensitiveQidCloseness(t={"job": 0.25}, distance=distance).audit(release).satisfied


def test_values_of_a_stretch_of_rows_are_those_that_they_have_in_the_whole_table(monkeypatch):
    monkeypatch.setattr(keystream, "ROWS", 64)
    codes = np.random.default_rng(1).integers(0, 5, 200).astype(np.int32)
    matrix, place_of = Matrix(Fraction(2, 5), np.array([4000, 3000, 2000, 900, 100])), np.arange(5, dtype=np.int32)

    def shown(first, last):
        keys = keystream.seeded_keys(np.random.default_rng(9))
        stretch = keystream.Stretch(first, last - first, codes.size)
        return draw(codes[first:last], place_of, matrix, keys, Workplace(), stretch)

    whole = draw(codes, place_of, matrix, keystream.seeded_keys(np.random.default_rng(9)), Workplace())
    for first, last in ((0, 200), (0, 1), (3, 64), (64, 128), (63, 65), (70, 199), (199, 200), (128, 128)):
        assert np.array_equal(shown(first, last), whole[first:last])


def test_without_base_rates_closeness_can_be_refuted_but_not_proven():
    table = people()
    run = sf.anonymize(table, plan_of({"job": 0.6}))
    release = replace(seen(run, table), public=PublicInputs())
    verdict = SensitiveQidCloseness(t={"job": 0.6}).audit(release)
    assert verdict.satisfied
    assert verdict.facts["columns"]["job"]["prior"] == "base rates that the release states"
    columns = release.description["columns"]
    job = {key: value for key, value in columns["job"].items() if key != "base_rates"}
    release = replace(release, description={**release.description, "columns": {**columns, "job": job}})
    verdict = SensitiveQidCloseness(t={"job": 0.6}).audit(release)
    assert verdict.satisfied
    assert verdict.facts["columns"]["job"]["prior"] == "estimated from the release"
    assert not SensitiveQidCloseness(t={"job": 0.3}).audit(release).satisfied


def planted(run, table, values):
    """The release with other cells in the column, rows in the order of the original, which is at hand."""
    data = run.release.data
    order = np.argsort(data["number"].to_numpy())
    data = data.take(pa.array(order)).set_column(0, "job", pa.array(values))
    description = run.release.description
    spoiled = Release.from_table(data, schema_for(description, None), description)
    truth = encode(table, schema_for(description, None))
    return replace(spoiled, public=seen(run, table).public, truth=truth)


@pytest.mark.parametrize("how", ["honest", "true values", "shuffled", "thirty percent more often true"])
def test_with_the_source_the_claimed_chance_itself_is_tested(how):
    table = people(6000)
    run = sf.anonymize(table, plan_of({"job": 0.3}))
    p, rng = run.release.description["columns"]["job"]["p"], np.random.default_rng(5)
    true = np.array(table["job"].to_pylist())
    others = rng.choice(JOBS, true.size, p=run.release.description["columns"]["job"]["shares"])
    values = {
        "honest": np.where(rng.random(true.size) < p, true, others),
        "true values": true,
        "shuffled": rng.permutation(true),  # counts are right, but cells tell nothing
        "thirty percent more often true": np.where(rng.random(true.size) < 1.3 * p, true, others),
    }[how]
    verdict = SensitiveQidCloseness(t={"job": 0.3}).audit(planted(run, table, values))
    assert verdict.satisfied == (how == "honest")
    assert "6,000 of them to one true value" in verdict.notes[0]
    if how != "honest":
        assert "p and shares" in str(verdict)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shares": [0.5, 0.5]}, "cannot be right"),
        ({"shares": [0.5, 0.3, 0.15, 0.04, 0]}, "cannot be right"),
        ({"shares": "abcde"}, "cannot be right"),
        ({"p": 1.2}, "cannot be right"),
        ({"domain": list("abcdf")}, "cannot be right|outside its domain"),
    ],
)
def test_parameters_that_cannot_be_right_are_refused(change, words):
    table = people(200)
    run = sf.anonymize(table, plan_of({"job": 0.3}))
    release = seen(run, table)
    columns = release.description["columns"]
    broken = {**release.description, "columns": {**columns, "job": columns["job"] | change}}
    if "domain" in change:
        data = run.release.data.set_column(0, "job", pa.array(["e"] * 200))
        release = Release.from_table(data, schema_for(release.description, None))
    with pytest.raises(DataError, match=f"{words}|plan declares"):
        SensitiveQidCloseness(t={"job": 0.3}).audit(replace(release, description=broken))


def test_other_promises_are_not_asked_of_it():
    for more in ({"prior": "any"}, {"model": "sensitive-qid-diversity", "l": {"job": 2}}):
        required = {"model": "sensitive-qid-closeness", "anonymizer": "pram", **more}
        if "l" not in more:
            required["t"] = {"job": 0.3}
        with pytest.raises(PlanError, match="pram"):
            sf.Plan.from_dict(
                {"columns": {"job": {"role": "sensitive-quasi-identifier"}}, "require": [required]}
            ).searchable()
    table = people(300)
    release = seen(sf.anonymize(table, plan_of({"job": 0.3})), table)
    with pytest.raises(DataError, match="tells of the table"):
        LocalDifferentialPrivacy(epsilon={"job": 1}).audit(release)
    with pytest.raises(DataError, match="to any prior"):
        SensitiveQidCloseness(t={"job": 0.3}, prior="any").audit(release)
    assert not SensitiveQidDiversity(l={"job": 3}).audit(release).satisfied


def test_dropped_rows_before_it_are_a_problem_of_the_plan():
    columns = {"age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 10]}}}
    plan = {
        "columns": {"job": {"role": "sensitive-quasi-identifier"}, **columns},
        "require": [
            {"model": "k-anonymity", "k": 2},
            {"model": "sensitive-qid-closeness", "t": {"job": 0.3}, "anonymizer": "pram"},
        ],
        "anonymizers": {"local-recoding": {"drop_rows": 0.1}},
    }
    with pytest.raises(PlanError, match="drop_rows"):
        sf.Plan.from_dict(plan).searchable()


def test_missing_values_are_a_value_and_bins_are_values(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"job": rng.choice(["a", "b", None], 900, p=[0.5, 0.3, 0.2]), "age": rng.integers(18, 90, 900)})
    plan = sf.Plan.from_dict(
        {
            "source": {"missing": ["", "unknown"]},
            "columns": {
                "job": {"role": "sensitive-quasi-identifier"},
                "age": {"role": "sensitive-quasi-identifier", "bins": [18, 40, 65, 90]},
            },
            "require": [{"model": "sensitive-qid-closeness", "t": {"job": 0.3, "age": 0.3}, "anonymizer": "pram"}],
            "release": {"format": "parquet"},
        }
    )
    run = Case(plan, table).make_folder(tmp_path / "run", lambda facts: "", seed=1)
    assert all(verdict.satisfied for verdict in run.verdicts)
    written = pq.read_table(tmp_path / "run" / "release" / "data.parquet")
    assert set(written["job"].to_pylist()) == {"a", "b", "unknown"}
    answer = sf.reconstruct(tmp_path / "run" / "release", ["job"])
    assert dict(zip(answer.axes[0].labels, answer.counts, strict=True))["unknown"] == pytest.approx(180, abs=60)
    described = json.loads((tmp_path / "run" / "release" / "release.json").read_text(encoding="utf-8"))["columns"][
        "age"
    ]
    assert len(described["shares"]) == len(described["domain"]) == 3


def test_a_column_that_may_be_published_as_it_is_stays_so_and_a_tiny_t_leaves_chance_alone():
    table = people(500)
    run = sf.anonymize(table, plan_of({"job": 1}))
    assert run.release.description["columns"]["job"]["p"] == 1
    assert sorted(run.release.data["job"].to_pylist()) == sorted(table["job"].to_pylist())
    nothing = sf.anonymize(table, plan_of({"job": "1/30000"}))
    assert nothing.release.description["columns"]["job"]["p"] == 0
    with pytest.raises(DataError, match="nothing can be told"):
        sf.reconstruct(nothing.release, ["job"])
    remarks = [content(json.loads(json.dumps(each.facts)))["remarks"] for each in (run, nothing)]
    assert any("true values themselves" in remark for remark in remarks[0])
    assert any("tells nothing" in remark for remark in remarks[1])


# What an analyst gets.


def dense(axes):
    """The whole matrix: from each true combination to each that may be shown."""
    matrix = np.ones((1, 1))
    for axis in axes:
        own = axis.p * np.eye(axis.d) + (1 - axis.p) * np.tile(axis.shares, (axis.d, 1))
        matrix = np.kron(matrix, own)
    return matrix


AXES = (
    Axis("a", ("1", "2", "3"), 1, 0.4, shares=(0.6, 0.3, 0.1)),
    Axis("b", ("1", "2"), 1, 0.7, shares=(0.8, 0.2)),
)


@pytest.mark.parametrize("n_axes", [1, 2])
def test_tables_are_computed_back_by_the_inverse_of_the_matrix(n_axes):
    axes = AXES[:n_axes]
    rng, shape = np.random.default_rng(1), tuple(axis.d for axis in axes)
    table, matrix = rng.random(shape) * 100, dense(axes)
    shown = (table.ravel() @ matrix).reshape(shape)
    assert unmixed(shown, axes) == pytest.approx(table)
    # Errors: the covariance of what is shown, given the counts, seen through the inverse.
    covariance = np.diag(shown.ravel()) - (matrix.T * table.ravel()) @ matrix
    back = np.linalg.inv(matrix)
    expected = np.sqrt(np.diag(back.T @ covariance @ back)).reshape(shape)
    assert error_of(table, axes) == pytest.approx(expected)
    step = (table.ravel() * (matrix @ (shown.ravel() / (table.ravel() @ matrix)))).reshape(shape)
    assert bayes_step(table, shown, axes) == pytest.approx(step)


def test_a_step_on_the_likelihood_is_the_literal_step():
    table = people(400)
    run = sf.anonymize(table, plan_of({"job": 0.4, "town": 0.4}))
    records = query(seen(run, table), ["job", "town"]).records
    matrix = dense(records.axes)
    guess = np.random.default_rng(2).random(records.shape)
    cells = [column.set_of for column in records.cells]
    shown = cells[0] * records.shape[1] + cells[1]
    weighted = guess.ravel()[:, None] * matrix[:, shown]
    possible = np.array(records.axes[0].shares)[cells[0]] > 0
    assert possible.all()
    expected = (weighted / weighted.sum(axis=0)).sum(axis=1)
    found, _ = Likelihood(records).step(guess, records.patterns.weight)
    assert found.ravel() == pytest.approx(expected)


def counted(table):
    pairs = list(zip(*(table[name].to_pylist() for name in ("job", "town")), strict=True))
    return np.array([pairs.count(pair) for pair in product(JOBS, TOWNS)]).reshape(5, 3)


@pytest.mark.slow
@pytest.mark.parametrize("method", ESTIMATORS)
def test_cross_tables_come_back_within_their_errors(method):
    table = people(30_000)
    run = sf.anonymize(table, plan_of({"job": 0.4, "town": 0.4}), seed=4)
    truth, naive = counted(table), counted(run.release.data)
    answer = sf.reconstruct(run.release, ["job", "town"], method=method)
    low, high = answer.interval(4.5)
    assert ((low <= truth) & (truth <= high)).all()
    if method != "value-adding":
        assert np.abs(answer.counts - truth).sum() < np.abs(naive - truth).sum() / 2


def test_a_filter_on_a_drawn_column_is_answered_from_the_table_that_has_it():
    table = people(20_000)
    run = sf.anonymize(table, plan_of({"job": 0.4, "town": 0.4}), seed=4)
    whole, part = (
        sf.reconstruct(run.release, ["town", "job"]),
        sf.reconstruct(run.release, ["town"], where={"job": "b"}),
    )
    assert part.counts == pytest.approx(whole.counts[:, 1])


# What an intruder and the holder get.


def test_the_attack_believes_what_bayes_says():
    table = people()
    run = sf.anonymize(table, plan_of({"job": 0.3, "town": 0.3}))
    release = seen(run, table)
    about = release.description["columns"]["job"]
    p, share = about["p"], {value: table["job"].to_pylist().count(value) / 2000 for value in JOBS[:4]}
    finding = SetInference(column="job").on(release)
    drawn = dict(zip(JOBS, about["shares"], strict=True))

    def believed(shown):
        weight = {value: share[value] * (p * (value == shown) + (1 - p) * drawn[shown]) for value in share}
        return max(weight.values()) / sum(weight.values())

    most = {value: believed(value) for value in JOBS}
    shown = run.release.data["job"].to_pylist()
    assert finding.mean == pytest.approx(np.mean([most[value] for value in shown]), abs=1e-3)
    again = SecondRelease(column="job").on(release)
    assert finding.worst < again.worst < 1
    together = Intersection(columns=("job", "town")).on(release)
    assert together.worst >= finding.worst - 1e-9


def test_the_report_and_the_words_for_readers_say_what_was_drawn():
    table = people(400)
    run = sf.anonymize(table, plan_of({"job": 0.3}))
    shown = content(json.loads(json.dumps(run.facts)))
    assert shown["head"][2:4] == ("p", "Shown truly")
    assert shown["rows"][0][0] == "job"
    entry = next(each for each in sf.describe(run.release).entries if each.name == "job")
    assert "drawn by chance" in entry.cells
    assert "right on average" in entry.beware
    (found,) = [each for each in run.measurements if each.name == Suppression.name]
    (column,) = [each for each in found.facts["columns"] if each["name"] == "job"]
    about = run.release.description["columns"]["job"]
    counts = np.array([table["job"].to_pylist().count(value) for value in JOBS]) / 400
    true = about["p"] + (1 - about["p"]) * counts @ about["shares"]
    assert column["randomized"] == {"values": 5, "shown": 1, "true": pytest.approx(true)}
