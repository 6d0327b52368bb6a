"""Cells that were drawn by the claimed chance pass; true values, fixed companions and another chance do not."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato.data.bit_sets import BitSets
from sfumato.data.encoding import encode
from sfumato.models import SensitiveQidCloseness, SensitiveQidDiversity
from sfumato.models.judging import chance
from sfumato.models.judging.randomized import randomized_column
from sfumato.pipeline.case import Case
from sfumato.plan import Plan

VALUES = list("abcdef")
CLOSENESS = {"model": "sensitive-qid-closeness", "t": {"j": 0.2}}
DIVERSITY = {"model": "sensitive-qid-diversity", "l": {"j": 3}}


def made(requirement, n_rows=1200, seed=1, groups=1200):
    """A table, its release with the original beside it, and what the release says of its column."""
    rng = np.random.default_rng(seed)
    table = pa.table(
        {"o": (np.arange(n_rows) % groups).astype(str).tolist(), "j": [VALUES[i] for i in rng.integers(0, 6, n_rows)]}
    )
    document = {
        "columns": {"o": {"role": "other"}, "j": {"role": "sensitive-quasi-identifier", "domain": VALUES}},
        "require": [requirement],
        "anonymizers": {"randomization": {"dependence": "allow"}},
    }
    plan = Plan.from_dict(document)
    release = replace(Case(plan, table).make(seed=seed).release, truth=encode(table, plan.schema))
    model = SensitiveQidCloseness(t={"j": 0.2}) if "t" in requirement else SensitiveQidDiversity(l={"j": 3})
    return release, randomized_column(release, "j", model), table


def judged(release, column, bits):
    """The test of other cells in the place of those that were drawn; rows in the order of the original."""
    shown = release.columns["j"]
    if isinstance(shown, BitSets):
        packed = np.packbits(bits, axis=1, bitorder="little").astype(shown.packed.dtype)
        other = shown.with_packed(packed)
    else:
        codes = [shown.labels.index(VALUES[row.argmax()]) for row in bits]
        other = replace(shown, codes=np.array(codes, dtype=np.int32))
    columns = dict(release.columns) | {"j": other}
    carried = release.truth.carried
    return chance.chance_of(replace(release, columns=columns, carried=carried), column)


def truth_of(table):
    return np.eye(6, dtype=np.uint8)[[VALUES.index(value) for value in table["j"].to_pylist()]]


@pytest.mark.parametrize("groups", [1200, 300, 1])
@pytest.mark.parametrize("requirement", [CLOSENESS, DIVERSITY])
def test_honest_cells_pass_whatever_links_their_rows(requirement, groups):
    release, column, _ = made(requirement, groups=groups)

    found = chance.chance_of(release, column)

    assert found.plausible
    assert (found.rows, found.alone == 1200) == (1200, groups == 1200)
    assert "1e-09" in str(found)


@pytest.mark.parametrize("groups", [1200, 400])
def test_true_values_in_place_of_random_cells_are_noticed(groups):
    release, column, table = made(CLOSENESS, groups=groups)
    assert column.eta == 1

    assert not judged(release, column, truth_of(table)).plausible


def test_companions_that_are_always_the_same_are_noticed():
    release, column, table = made(DIVERSITY)
    true = truth_of(table)
    fixed = true | np.roll(true, 1, axis=1) | np.roll(true, 2, axis=1)
    rng = np.random.default_rng(3)
    drawn = true.copy()
    for row in drawn:
        row[rng.permutation(np.flatnonzero(row == 0))[:2]] = 1
    late = drawn.copy()
    late[0] = 1 - drawn[0]  # one cell without its true value, which the claim rules out

    assert (column.eta, column.p) == (3, 1)
    assert judged(release, column, drawn).plausible
    assert not judged(release, column, fixed).plausible
    assert not judged(release, column, late).plausible


@pytest.mark.slow
def test_another_chance_than_the_claimed_one_is_noticed():
    release, column, table = made(CLOSENESS, n_rows=20_000, groups=20_000)
    true = truth_of(table)
    rng = np.random.default_rng(3)
    for factor, plausible in ((1.0, True), (1.3, False)):
        hit = rng.random(len(true)) < float(column.g) * factor
        moved = np.array([np.roll(row, turn) for row, turn in zip(true, rng.integers(1, 6, len(true)), strict=True)])
        assert judged(release, column, np.where(hit[:, None], true, moved)).plausible is plausible


def test_without_the_original_nothing_is_judged():
    release, column, _ = made(CLOSENESS)

    assert chance.chance_of(replace(release, truth=None), column) is None


@pytest.mark.parametrize("shown", ["lists", "texts of lists", "objects"])
def test_columns_of_lists_that_are_carried_along_link_rows_as_well(shown):
    release, column, table = made(DIVERSITY)

    def cell(number):
        if shown == "objects":
            return {"of": number}
        return None if number == 7 else [str(number), "x"]

    there = [cell(number) for number in range(table.num_rows)]
    here = [cell(int(number)) for number in release.carried["o"].to_pylist()]
    if shown == "texts of lists":
        here = [each and "|".join(each) for each in here]
    truth = replace(release.truth, carried=pa.table({"o": there}))

    found = chance.chance_of(replace(release, truth=truth, carried=pa.table({"o": here})), column)

    assert found is not None
    assert found.plausible
    assert found.alone == table.num_rows
