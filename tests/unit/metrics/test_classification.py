from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sfumato.data.release import Release
from sfumato.errors import PolicyError
from sfumato.metrics.classification import Classification, _Design, _Features, minimized
from sfumato.metrics.comparison import Comparison
from sfumato.metrics.cover import identity

ROLES = {"illness": "sensitive"}


def patients(n_rows=400, seed=0, noise=0.1):
    """Illness goes by job, but for some noise; age has nothing to say."""
    rng = np.random.default_rng(seed)
    jobs = rng.choice(["baker", "cook", "nurse"], n_rows)
    usual = {"baker": "flu", "cook": "ulcer", "nurse": "asthma"}
    illness = [usual[job] if rng.random() > noise else str(rng.choice(list(usual.values()))) for job in jobs]
    return {"age": rng.integers(20, 70, n_rows).tolist(), "job": jobs.tolist(), "illness": illness}


def test_what_a_column_tells_is_learnt_and_what_is_starred_is_lost(pair_of):
    columns = patients()
    starred = columns | {"job": ["*"] * 400}

    measured = Classification().measure(*pair_of(columns, starred, ROLES))

    assert measured.before > 0.9
    assert measured.value < 0.5
    assert measured.facts["before"]["baseline"] < 0.5
    assert measured.facts["before"]["balanced_accuracy"] > 0.9
    assert measured.facts["before"]["log_loss"] < measured.facts["after"]["log_loss"]
    assert measured.facts["classes"] == ["asthma", "flu", "ulcer"]
    assert measured.facts["features"] == ["age", "job"]


def test_an_unchanged_release_predicts_as_well(pair_of):
    columns = patients()

    measured = Classification().measure(*pair_of(columns, columns, ROLES))

    assert measured.facts["after"] == measured.facts["before"]


def test_numbers_are_features_even_as_ranges(pair_of):
    rng = np.random.default_rng(0)
    ages = rng.integers(20, 60, 300)
    columns = {"age": ages, "illness": ["gout" if age >= 40 else "flu" for age in ages]}
    ranges = columns | {"age": [f"[{age // 10 * 10}, {age // 10 * 10 + 9}]" for age in ages]}

    measured = Classification().measure(*pair_of(columns, ranges, ROLES))

    assert measured.before > 0.95
    assert measured.value > 0.95


def test_missing_numbers_are_a_feature_of_their_own(pair_of):
    columns = {"age": ["30", ""] * 50 + ["40", ""] * 50, "illness": ["flu", "gout"] * 100}

    measured = Classification().measure(*pair_of(columns, columns, ROLES))

    assert measured.value == 1.0


def test_numbers_are_predicted_in_classes_of_equal_size(pair_of):
    columns = {"job": ["cook", "nurse"] * 50, "pay": [100 + row if row % 2 else row for row in range(100)]}

    measured = Classification(target="pay", number_classes=2).measure(*pair_of(columns, columns, {"pay": "sensitive"}))

    assert measured.facts["classes"] == ["[0, 98]", "[101, 199]"]
    assert measured.value == 1.0
    assert measured.facts["before"]["baseline"] == 0.5


def test_rare_classes_go_together(pair_of):
    illness = ["flu"] * 30 + ["gout"] * 20 + ["ulcer", "asthma", "rash"] * 3
    columns = {"job": ["cook"] * 59, "illness": illness}

    measured = Classification(most_classes=3).measure(*pair_of(columns, columns, ROLES))

    assert measured.facts["classes"] == ["flu", "gout", "(3 others)"]


def test_masked_targets_are_left_out(pair_of):
    columns = patients()
    masked = columns | {"illness": ["*" if row % 4 == 0 else value for row, value in enumerate(columns["illness"])]}

    measured = Classification().measure(*pair_of(columns, masked, ROLES))

    assert measured.facts["after"]["rows"] == 300
    assert measured.facts["after"]["rows_unlabelled"] == 100
    assert measured.value > 0.85


def test_a_quasi_identifier_or_a_carried_column_can_be_the_target(pair_of):
    columns = patients()
    as_job = Classification(target="job").measure(*pair_of(columns, columns, ROLES))
    as_other = Classification(target="illness").measure(*pair_of(columns, columns, {"illness": "other"}))

    assert as_job.facts["features"] == ["age"]
    assert as_job.before == as_job.value < 0.6
    assert as_other.value > 0.9


@given(seed=st.integers(0, 50))
@settings(max_examples=5, deadline=None)
def test_the_order_of_rows_does_not_matter(pair_of, seed):
    columns = patients(120)
    order = np.random.default_rng(seed).permutation(120)
    mixed = {name: [values[row] for row in order] for name, values in columns.items()}

    one = Classification().measure(*pair_of(columns, columns, ROLES))
    other = Classification().measure(*pair_of(columns, mixed, ROLES))

    assert one.facts == other.facts


def test_large_tables_are_sampled(pair_of):
    columns = patients()

    measured = Classification(most_rows=100).measure(*pair_of(columns, columns, ROLES))

    assert measured.facts["before"]["rows"] == 100
    assert measured.facts["before"]["rows_unlabelled"] == 0
    assert measured.value > 0.7


def test_nothing_to_predict_is_said(pair_of):
    dataset, release = pair_of({"age": [20, 30]}, {"age": [20, 30]})
    sets, _ = pair_of({"a": ["x", "y"]}, {"a": ["x", "y"]}, {"a": "sensitive-quasi-identifier"})
    published = Release.from_table(pa.table({"a": [["x", "y"], ["y"]]}), sets.schema)

    assert "no column" in Classification().measure(dataset, release).explanation
    assert "as sets" in Classification(target="a").measure(sets, published).explanation


@pytest.mark.parametrize("illness", [[], ["flu"], ["flu"] * 30, ["flu", "gout"] * 3])
def test_tables_too_small_to_learn_from_give_the_baseline(pair_of, illness):
    columns = {"job": ["cook"] * len(illness), "illness": pa.array(illness, pa.string())}

    measured = Classification().measure(*pair_of(columns, columns, ROLES))

    assert (
        measured.value
        == measured.facts["after"]["baseline"]
        == (max(map(illness.count, illness)) / len(illness) if illness else 0.0)
    )


def test_the_learner_finds_the_best_weights(pair_of):
    """Against SciPy on plain features, with the same penalty."""
    dataset, release = pair_of(patients(60, noise=0.4), patients(60, noise=0.4), ROLES)
    comparison = Comparison(dataset, release)
    distinct, pairs = comparison.distinct_before, comparison.quasi_identifiers
    binned = [_Features(pair.original, pair.before, 50) for pair in pairs]
    counts = np.zeros((distinct.weight.size, 3))
    np.add.at(counts, (distinct.distinct_of, dataset.columns["illness"].codes), 1)
    design = _Design(distinct.codes, counts.sum(axis=1), [identity(pair.original) for pair in pairs], binned)
    plain = np.hstack(
        [np.ones((distinct.weight.size, 1))]
        + [
            features.of(identity(pair.original))[distinct.codes[:, at]]
            for at, (features, pair) in enumerate(zip(binned, pairs, strict=True))
        ]
    )

    def log_chances(flat):
        scores = np.hstack([plain @ flat.reshape(-1, 2), np.zeros((plain.shape[0], 1))])
        return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

    def loss(flat):
        return -(counts * log_chances(flat)).sum() + (flat.reshape(-1, 2)[1:] ** 2).sum() / 2

    best = minimize(loss, np.zeros(2 * plain.shape[1]), method="BFGS").x

    found = design.fit(counts)

    np.testing.assert_allclose(np.exp(found), np.exp(log_chances(best)), atol=0.02)


@given(seed=st.integers(0, 99), size=st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_the_bottom_of_a_bowl_is_found(seed, size):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(size, size))
    curve = np.eye(size) + factor @ factor.T / 4
    goal = rng.normal(size=size)

    found = minimized(lambda at: (1 + 0.5 * (at - goal) @ curve @ (at - goal), curve @ (at - goal)), np.zeros(size))

    assert (found - goal) @ curve @ (found - goal) < 1e-2  # it stops where a step gains little, not at the bottom


@pytest.mark.parametrize("options", [{"folds": 1}, {"most_classes": 1}, {"number_classes": 1}, {"most_rows": 2}])
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(PolicyError):
        Classification(**options)


def test_a_gain_that_is_noise_is_said_to_be_noise(pair_of):
    before, after = patients(noise=1.0), patients(seed=3, noise=1.0)  # nothing to learn on either side

    measured = Classification().measure(*pair_of(before, after, ROLES))

    assert measured.value != measured.before
    assert measured.note.endswith("; the difference is within chance")
    assert measured.explanation.endswith(" The difference is within chance.")
    assert measured.worst == measured.facts["after"]["baseline"]


def test_a_loss_beyond_chance_is_left_to_speak_for_itself(pair_of):
    columns = patients()

    assert Classification().measure(*pair_of(columns, columns | {"job": ["*"] * 400}, ROLES)).note.count(";") == 0


def test_a_gain_by_leaving_masked_rows_out_is_said_to_be_one(pair_of):
    columns = patients(noise=0.6)
    usual = {"baker": "flu", "cook": "ulcer", "nurse": "asthma"}
    odd = [usual[job] != illness for job, illness in zip(columns["job"], columns["illness"], strict=True)]
    masked = columns | {
        "illness": ["*" if hide else shown for hide, shown in zip(odd, columns["illness"], strict=True)]
    }

    measured = Classification().measure(*pair_of(columns, masked, ROLES))

    assert measured.value > measured.before
    assert f"without the {sum(odd):,} rows that show no single class" in measured.note
