"""Rows that are dropped because others lose less without them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.dropping import lost_in_groups, outliers, rows_to_drop, yardsticks_of
from sfumato.anonymizers.local_recoding import LocalRecoding
from sfumato.anonymizers.mondrian import Mondrian
from sfumato.data.builders import Widths
from sfumato.data.encoding import encode
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import Unsatisfiable
from sfumato.metrics.ncp import Ncp
from sfumato.models import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy

MIXES = (
    (KAnonymity(k=12),),
    (KAnonymity(k=10), LDiversity(sensitive="s", l=3)),
    (KAnonymity(k=12), TCloseness(sensitive="s", t="0.45")),
    (KAnonymity(k=12), BetaLikeness(sensitive="s", beta=2)),
    (KAnonymity(k=10), DeltaDisclosure(sensitive="s", delta=2)),
)


def schema(*, hierarchies=True, kind=None):
    columns = {
        name: ColumnSpec(
            name=name, role=Role.QUASI_IDENTIFIER, kind=kind, hierarchy=Widths((5, 20)) if hierarchies else None
        )
        for name in ("a", "b")
    }
    return Schema(columns | {"s": ColumnSpec(name="s", role=Role.SENSITIVE)})


def some_rows(rng, n, widest=40):
    """Most rows close together, and a few far off."""
    far = rng.random(n) < 0.07
    columns = {name: np.where(far, rng.integers(0, widest, n), rng.integers(0, 6, n)) for name in ("a", "b")}
    return pa.table(columns | {"s": rng.choice(["flu", "flu", "gout", "hiv"], n)})


def detail_lost(dataset, anonymizer, models):
    decided = anonymizer.anonymize(dataset, Policy(models), Recoding(), Workplace(np.random.default_rng(1)))
    release = publish(dataset, decided, [])
    return Ncp().measure(dataset, release).facts["loss_of_occurring"], decided, release  # which searches minimize


@pytest.mark.slow
@pytest.mark.parametrize("models", MIXES, ids=lambda models: "+".join(model.name for model in models))
@pytest.mark.parametrize("anonymizer", [LocalRecoding, Mondrian])
def test_rows_go_only_where_less_is_lost_with_them_counted(anonymizer, models):
    rng = np.random.default_rng(len(models))
    went = 0
    for share in (0.05, 0.2, 0.2):
        dataset = encode(some_rows(rng, 60), schema(hierarchies=anonymizer is LocalRecoding))
        plain, _, _ = detail_lost(dataset, anonymizer(), models)
        lost, decided, release = detail_lost(dataset, anonymizer(drop_rows=share), models)
        dropped = dataset.n_rows - release.n_rows
        assert dropped <= share * dataset.n_rows
        assert decided.facts["rows_dropped"] == dropped
        assert lost < plain if dropped else lost == plain
        assert all(model.audit(release).satisfied for model in models)
        went += dropped
    assert went


def test_what_groups_lose_is_what_is_measured():
    for anonymizer, hierarchies, kind in (
        (LocalRecoding(drop_rows=0.1), True, None),
        (Mondrian(drop_rows=0.1), False, Kind.CATEGORY),
        (Mondrian(drop_rows=0.1, value_sets=True), True, Kind.CATEGORY),
        (Mondrian(drop_rows=0.1, bounds="exact"), True, None),
    ):
        dataset = encode(some_rows(np.random.default_rng(5), 50), schema(hierarchies=hierarchies, kind=kind))
        lost, decided, _ = detail_lost(dataset, anonymizer, [KAnonymity(k=3)])
        tree = decided.tree
        options = {} if tree is None else {"value_sets": tree.value_sets, "exact": tree.exact, "grids": tree.grids}
        rows = np.flatnonzero(decided.class_of >= 0)
        yardsticks = yardsticks_of(dataset.quasi_identifiers, **options)
        dropped = dataset.n_rows - rows.size
        assert (
            lost_in_groups(rows, decided.class_of[rows], yardsticks).sum() + dropped
        ) / dataset.n_rows == pytest.approx(lost)


@pytest.mark.parametrize("kind", [None, Kind.CATEGORY])
def test_the_best_end_of_each_class_is_found(kind):
    """Against every end of every column of every class, each loss from the values that are there."""
    rng = np.random.default_rng(7)
    for _ in range(6):
        dataset = encode(some_rows(rng, 30), schema(hierarchies=kind is None, kind=kind))
        columns = dataset.quasi_identifiers
        group_of = rng.integers(0, 5, dataset.n_rows).astype(np.int32)
        group_of = np.unique(group_of, return_inverse=True)[1].astype(np.int32)
        rows = np.arange(dataset.n_rows)

        def lost(members, columns=columns):
            total = 0.0
            for column in columns:
                codes = column.codes[members]
                if column.tree is None:
                    total += (len(set(codes.tolist())) - 1) / (len(column.labels) - 1)
                else:
                    spans = zip(column.tree.first, column.tree.last, column.node_loss(), strict=True)
                    total += min(loss for first, last, loss in spans if first <= codes.min() and codes.max() <= last)
            return len(members) * total / len(columns)

        expected = 0.0
        for group in range(group_of.max() + 1):
            members = rows[group_of == group]
            gains = [0.0]
            for column, lowest in product(columns, (True, False)):
                for code in sorted(set(column.codes[members].tolist())):
                    stays = column.codes[members] >= code if lowest else column.codes[members] <= code
                    gains.append(lost(members) - lost(members[stays]) - (~stays).sum())
            expected += max(gains)

        gone = outliers(rows, group_of, yardsticks_of(columns), dataset.n_rows)

        left = np.setdiff1d(rows, gone)
        before = sum(lost(rows[group_of == group]) for group in range(group_of.max() + 1))
        after = sum(lost(left[group_of[left] == group]) for group in set(group_of[left].tolist()))
        assert before - after - gone.size == pytest.approx(expected)


def test_no_more_rows_are_named_than_may_go():
    dataset = encode(some_rows(np.random.default_rng(2), 80), schema())
    one, yardsticks = np.zeros(80, dtype=np.int32), yardsticks_of(dataset.quasi_identifiers)
    for most in (0, 1, 3, 10):
        assert outliers(np.arange(80), one, yardsticks, most).size <= most


def test_shares_are_exact():
    assert rows_to_drop(0.29, 100) == 29  # 0.29 * 100 is 28.999999999999996
    assert rows_to_drop(0.0, 100) == 0


def test_rows_that_went_before_stay_away():
    dataset = encode(some_rows(np.random.default_rng(3), 60), schema())
    keep = np.arange(60) % 7 > 0
    for anonymizer in (LocalRecoding(drop_rows=0.2), Mondrian(drop_rows=0.2)):
        decided = anonymizer.anonymize(dataset, Policy([KAnonymity(k=3)]), Recoding(keep_row=keep), Workplace())
        assert not decided.keep_row[~keep].any()
        assert decided.keep_row.sum() == keep.sum() - decided.facts["rows_dropped"]
        assert KAnonymity(k=3).audit(publish(dataset, decided, [])).satisfied


@pytest.mark.parametrize("anonymizer", [LocalRecoding, Mondrian])
def test_who_drops_rows_for_detail_alone_does_not_say_that_nobody_could_meet_it(anonymizer):
    dataset = encode(pa.table({"a": [1, 2, 3], "b": [1, 2, 3], "s": ["flu", "flu", "hiv"]}), schema())
    often = (LDiversity(sensitive="s", l=2, kind="frequency"),)

    with pytest.raises(Unsatisfiable, match=r"of all rows can satisfy it.*full-domain"):
        detail_lost(dataset, anonymizer(drop_rows=0.5), often)
    for options, asked in (({}, often), ({"drop_rows": 0.5}, (LDiversity(sensitive="s", l=3),))):
        with pytest.raises(Unsatisfiable, match="No way to form classes can satisfy it"):
            detail_lost(dataset, anonymizer(**options), asked)
