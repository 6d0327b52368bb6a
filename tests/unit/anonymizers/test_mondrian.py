from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymizers import boxes
from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.conditions import conditions_for
from sfumato.anonymizers.mondrian import Mondrian, growth, split
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.labels import parse_range, parse_set
from sfumato.data.recoding import Recoding
from sfumato.data.release import publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.models import KAnonymity, LDiversity, TCloseness
from sfumato.models.base import Policy

JOBS = {"health": {"medical": ["doctor", "surgeon"], "care": ["nurse", "midwife"]}, "food": ["cook", "baker"]}
GRADES = ("low", "middle", "high")
QI = ("age", "town", "job", "grade")


class Nested:
    def build(self, labels, name, *, secret=False):
        return Hierarchy.from_nested(JOBS, name)


def dataset_of(rows):
    """Rows of (age or None, town, job or None, grade, disease), all but the last quasi-identifiers."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    table = pa.table(
        {
            "age": pa.array([None if age is None else str(age) for age in columns[0]], pa.string()),
            "town": pa.array(columns[1], pa.string()),
            "job": pa.array(columns[2], pa.string()),
            "grade": pa.array(columns[3], pa.string()),
            "disease": pa.array(columns[4], pa.string()),
        }
    )
    specs = [
        ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER),
        ColumnSpec(name="town", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY),
        ColumnSpec(name="job", role=Role.QUASI_IDENTIFIER, kind=Kind.CATEGORY, hierarchy=Nested()),
        ColumnSpec(name="grade", role=Role.QUASI_IDENTIFIER, kind=Kind.ORDERED, domain=GRADES),
        ColumnSpec(name="disease", role=Role.SENSITIVE, kind=Kind.CATEGORY),
    ]
    return encode(table, Schema({spec.name: spec for spec in specs}))


def released(dataset, recoding):
    """The rows that an outsider sees, as tuples of text."""
    release = publish(dataset, recoding, [])
    shown = [release.columns[name] for name in (*QI, "disease")]
    return list(zip(*([column.labels[code] for code in column.codes] for column in shown), strict=True))


def by_class(rows):
    """The diseases of all rows with equal labels."""
    classes = defaultdict(list)
    for row in rows:
        classes[row[:4]].append(row[4])
    return classes


def covers(name, label, value):
    """Whether a label may stand for a value; None is missing."""
    if label == "*" or label == ("" if value is None else str(value)):
        return True
    if (values := parse_set(label)) is not None:
        return ("" if value is None else value) in values
    if value is None:
        return False
    if name == "age":
        low, high, _ = parse_range(label)
        return low <= value <= high
    if name == "grade":
        low, high = label[1:-1].split(", ")
        return GRADES.index(low) <= GRADES.index(value) <= GRADES.index(high)
    return label in Hierarchy.from_nested(JOBS).ancestors(value)


def satisfies(model, diseases, all_diseases):
    """Each model once more, in the plainest words."""
    counts = sorted(Counter(diseases).values(), reverse=True)
    if isinstance(model, KAnonymity):
        return len(diseases) >= model.k
    if isinstance(model, LDiversity):
        if model.kind == "distinct":
            return len(counts) >= model.l
        if model.kind == "entropy":
            return sum(-c / len(diseases) * log(c / len(diseases)) for c in counts) >= log(model.l) - 1e-9
        if model.kind == "recursive":
            return counts[0] < Fraction(model.c) * sum(counts[model.l - 1 :])
        return model.l * counts[0] <= len(diseases)
    here, everywhere = Counter(diseases), Counter(all_diseases)
    distance = sum(
        abs(Fraction(here[value], len(diseases)) - Fraction(everywhere[value], len(all_diseases)))
        for value in everywhere
    )
    return distance / 2 <= Fraction(str(model.t))


def anonymized(dataset, options, *models, threads=1, before=None):
    return options.anonymize(dataset, Policy(models), before or Recoding(), Workplace(threads=threads))


rows_of = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(20, 26)),
        st.sampled_from("abcd"),
        st.one_of(st.none(), st.sampled_from(["doctor", "surgeon", "nurse", "midwife", "cook"])),
        st.sampled_from(GRADES),
        st.sampled_from(["flu", "flu", "cold", "gout"]),
    ),
    min_size=1,
    max_size=40,
)
options_of = st.builds(
    Mondrian,
    strict=st.booleans(),
    categories=st.sampled_from(["hierarchy", "order"]),
    value_sets=st.booleans(),
    cut=st.sampled_from(["loss", "loss", "width"]),
    lookahead=st.sampled_from([1, 2, 8]),
)
models_of = st.tuples(
    st.builds(KAnonymity, k=st.integers(1, 6)),
    st.sampled_from(
        [
            None,
            LDiversity(sensitive="disease", l=2),
            LDiversity(sensitive="disease", l=2, kind="entropy"),
            LDiversity(sensitive="disease", l=2, kind="recursive", c=3),
            LDiversity(sensitive="disease", l=2, kind="frequency"),
            TCloseness(sensitive="disease", t=0.3),
        ]
    ),
).map(lambda models: tuple(model for model in models if model is not None))


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(rows=rows_of, options=options_of, models=models_of)
def test_every_class_satisfies_every_model_and_every_label_is_true(rows, options, models):
    dataset = dataset_of(rows)
    diseases = [row[4] for row in rows]
    try:
        recoding = anonymized(dataset, options, *models)
    except Unsatisfiable:
        assert not all(satisfies(model, diseases, diseases) for model in models)
        return

    shown = released(dataset, recoding)
    classes = by_class(shown)
    for model in models:
        assert all(satisfies(model, members, diseases) for members in classes.values())
        assert model.audit(publish(dataset, recoding, [])).satisfied
    for row, labels in zip(rows, shown, strict=True):
        assert all(covers(name, label, value) for name, label, value in zip(QI, labels, row, strict=False))
    pairs = {(labels[:4], number) for labels, number in zip(shown, recoding.class_of.tolist(), strict=True)}
    assert len(pairs) == len(classes) == recoding.facts["classes"] == len(set(recoding.class_of.tolist()))
    if options.strict:
        published = defaultdict(set)
        for row, labels in zip(rows, shown, strict=True):
            published[row[:4]].add(labels[:4])
        assert all(len(labels) == 1 for labels in published.values())


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows=rows_of, options=options_of, models=models_of, data=st.data())
def test_row_order_makes_no_difference_when_equal_rows_stay_together(rows, options, models, data):
    options = replace(options, strict=True)
    assume(all(satisfies(model, [row[4] for row in rows], [row[4] for row in rows]) for model in models))
    shuffled = data.draw(st.permutations(rows))
    one, other = (dataset_of(some) for some in (rows, shuffled))
    assert sorted(released(one, anonymized(one, options, *models))) == sorted(
        released(other, anonymized(other, options, *models))
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(rows=rows_of, options=options_of, k=st.integers(1, 3))
def test_the_number_of_threads_makes_no_difference(rows, options, k):
    assume(len(rows) >= k)
    dataset = dataset_of(rows)
    alone = anonymized(dataset, options, KAnonymity(k=k))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "LARGE", 2)  # threads share the attributes of all but the smallest parts
        together = anonymized(dataset, options, KAnonymity(k=k), threads=3)
    assert released(dataset, alone) == released(dataset, together)
    assert np.array_equal(alone.class_of, together.class_of)
    assert alone.facts == together.facts


def random_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    jobs = ["doctor", "surgeon", "nurse", "midwife", "cook", "baker", None]
    return [
        (
            None if rng.random() < 0.05 else int(rng.normal(40, 12)),
            "abcdefgh"[rng.integers(8)],
            jobs[rng.integers(7)],
            GRADES[rng.integers(3)],
            ["flu", "cold", "gout", "acne"][rng.integers(4)],
        )
        for _ in range(n)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [Mondrian(), Mondrian(value_sets=True), Mondrian(strict=False), Mondrian(cut="width"), Mondrian(lookahead=1)],
)
def test_a_larger_table_is_the_same_with_two_threads_and_passes_its_audits(options, monkeypatch):
    monkeypatch.setattr(growth, "LARGE", 100)
    dataset = dataset_of(random_rows(600))
    models = KAnonymity(k=4), LDiversity(sensitive="disease", l=2)
    recodings = [anonymized(dataset, options, *models, threads=threads) for threads in (1, 2)]
    shown = [released(dataset, recoding) for recoding in recodings]
    assert shown[0] == shown[1]
    assert all(model.audit(publish(dataset, recodings[0], [])).satisfied for model in models)
    assert recodings[0].facts["classes"] > 60


def test_looking_ahead_and_looking_at_losses_lower_the_loss():
    rows = random_rows(800)
    dataset = dataset_of(rows)

    def loss(options):
        classes = anonymized(dataset, options, KAnonymity(k=4)).class_of
        lost = 0.0
        for name in QI:
            column = dataset.column(name)
            for number in range(classes.max() + 1):
                lost += len(set(column.codes[classes == number].tolist())) * (classes == number).sum()
        return lost

    ahead, at_once, wide = (
        loss(Mondrian(value_sets=True, **more)) for more in ({}, {"lookahead": 1}, {"cut": "width"})
    )
    assert ahead < at_once < wide


def test_k_1_publishes_every_combination_as_it_is():
    rows = random_rows(80)
    dataset = dataset_of(rows)
    recoding = anonymized(dataset, Mondrian(), KAnonymity(k=1))
    expected = [tuple("" if value is None else str(value) for value in row) for row in rows]
    assert released(dataset, recoding) == expected


def test_without_any_requirement_nothing_is_changed():
    rows = random_rows(30)
    dataset = dataset_of(rows)
    assert anonymized(dataset, Mondrian()).facts["classes"] == len({row[:4] for row in rows})


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(ages=st.lists(st.integers(20, 24), min_size=1, max_size=40), k=st.integers(1, 6))
def test_dividing_ties_leaves_no_group_of_different_rows_that_could_be_halved(ages, k):
    assume(len(ages) >= k)
    rows = [(age, "a", "cook", "low", "flu") for age in ages]
    dataset = dataset_of(rows)
    asked = conditions_for(dataset, Policy((KAnonymity(k=k),)))
    groups = split(dataset, asked, Mondrian(strict=False, bounds="exact"), Workplace())
    for group in range(groups.n_groups):
        members = [age for age, number in zip(ages, groups.group_of.tolist(), strict=True) if number == group]
        assert len(members) >= k
        assert len(members) < 2 * k or len(set(members)) == 1


def labels_of(rows, name, options=Mondrian(), k=2):  # noqa: B008
    dataset = dataset_of(rows)
    shown = released(dataset, anonymized(dataset, options, KAnonymity(k=k)))
    return [labels[QI.index(name)] for labels in shown]


def with_values(name, values):
    plain = {"age": 30, "town": "a", "job": "cook", "grade": "low"}
    return [(*{**plain, name: value}.values(), "flu") for value in values]


@pytest.mark.parametrize(
    ("name", "values", "options", "expected"),
    [
        ("age", [20, 21, 40, 44], {}, ["[15, 24]", "[15, 24]", "[35, 49]", "[35, 49]"]),
        ("age", [20, 21, 40, 44], {"bounds": "exact"}, ["[20, 21]", "[20, 21]", "[40, 44]", "[40, 44]"]),
        ("age", [20, 20, 40, 44], {}, ["20", "20", "[35, 49]", "[35, 49]"]),
        ("age", [20, 21, None, None], {}, ["[15, 24]", "[15, 24]", "", ""]),
        ("age", [20, 20, 20, None], {}, ["*", "*", "*", "*"]),
        ("grade", ["low", "middle", "high", "high"], {}, ["[low, middle]", "[low, middle]", "high", "high"]),
        ("town", ["a", "b", "c", "c"], {}, ["{a|b}", "{a|b}", "c", "c"]),
        ("town", ["a", "b", "c"], {}, ["*", "*", "*"]),
        ("town", ["a", "b", "b", "c"], {"k": 1}, ["a", "b", "b", "c"]),
        ("town", ["a", "c", "b", "b"], {}, ["{a|c}", "{a|c}", "b", "b"]),
        ("town", ["a", "c", "b", "b"], {"categories": "order"}, ["*"] * 4),
        ("job", ["doctor", "surgeon", "nurse", "nurse"], {}, ["medical", "medical", "nurse", "nurse"]),
        ("job", ["doctor", "nurse", "cook", "cook"], {}, ["health", "health", "cook", "cook"]),
        ("job", ["doctor", "nurse", "cook", "cook"], {"value_sets": True}, ["{doctor|nurse}"] * 2 + ["cook"] * 2),
        ("job", ["doctor", "surgeon", "cook", "cook"], {"value_sets": True}, ["medical"] * 2 + ["cook"] * 2),
        ("job", ["doctor", None, "cook", "cook"], {}, ["*", "*", "cook", "cook"]),
        ("job", ["doctor", None, "cook", "cook"], {"value_sets": True}, ["{doctor|}"] * 2 + ["cook"] * 2),
        ("job", ["doctor", "baker"], {}, ["*", "*"]),
    ],
)
def test_labels_say_what_is_in_a_class(name, values, options, expected):
    k = options.pop("k", 2) if "k" in (options := dict(options)) else 2
    assert labels_of(with_values(name, values), name, Mondrian(**options), k) == expected


def test_groups_with_equal_labels_are_one_class():
    # The two cooks are divided: one goes with the doctor, one with the missing value, and "*" covers either pair.
    rows = with_values("job", ["doctor", "cook", "cook", None])
    dataset = dataset_of(rows)
    recoding = anonymized(dataset, Mondrian(strict=False, categories="order"), KAnonymity(k=2))
    assert (recoding.facts["groups"], recoding.facts["classes"]) == (2, 1)
    assert recoding.class_of.tolist() == [0, 0, 0, 0]


def test_a_check_decides_on_halves_in_batches():
    rows = random_rows(200)
    dataset = dataset_of(rows)
    asked = conditions_for(dataset, Policy((KAnonymity(k=3),)))
    batches = []

    def at_least_two_towns(order, start):
        batches.append(start.size - 1)
        return np.array([len({rows[row][1] for row in order[a:b]}) >= 2 for a, b in pairwise(start)], dtype=bool)

    for strict in (True, False):
        groups = split(dataset, asked, Mondrian(strict=strict, bounds="exact"), Workplace(), check=at_least_two_towns)
        towns = defaultdict(set)
        for row, group in zip(rows, groups.group_of.tolist(), strict=True):
            towns[group].add(row[1])
        assert len(towns) == groups.n_groups > 10
        assert all(len(found) >= 2 for found in towns.values())
        free = split(dataset, asked, Mondrian(strict=strict, bounds="exact"), Workplace())
        assert free.n_groups > groups.n_groups
    assert max(batches) > 10
    assert all(size % 2 == 0 for size in batches)


def test_a_check_that_refuses_everything_leaves_the_table_whole():
    dataset = dataset_of(random_rows(60))
    asked = conditions_for(dataset, Policy((KAnonymity(k=2),)))
    tried = []

    def never(order, start):
        tried.append(sorted(order.tolist()))
        return np.zeros(start.size - 1, dtype=bool)

    groups = split(dataset, asked, Mondrian(lookahead=2), Workplace(), check=never)
    assert groups.n_groups == 1
    assert 10 < len(tried) <= 2 + growth.TRIES
    assert all(rows == list(range(60)) for rows in tried)


def test_the_tree_tells_how_groups_came_about_and_lets_them_be_merged():
    rows = random_rows(120)
    dataset = dataset_of(rows)
    recoding = anonymized(dataset, Mondrian(), KAnonymity(k=3))
    node_of, parent = recoding.tree.node_of_row, recoding.tree.parent
    assert parent[0] == -1
    assert all(parent[node] < node for node in range(1, parent.size))
    children = Counter(parent[1:].tolist())
    assert set(children.values()) == {2}
    assert set(node_of.tolist()) == set(range(parent.size)) - set(children)

    columns, class_of = boxes.label_boxes(dataset, recoding.tree.merged(node_of))
    assert len(set(zip(class_of.tolist(), recoding.class_of.tolist(), strict=True))) == recoding.facts["classes"]
    assert all(
        [column.labels[code] for code in column.codes]
        == [recoding.columns[name].labels[code] for code in recoding.columns[name].codes]
        for name, column in columns.items()
    )

    last = parent[-1]  # the last two nodes are siblings
    columns, class_of = boxes.label_boxes(
        dataset, recoding.tree.merged(np.where(parent[node_of] == last, last, node_of))
    )
    shown = released(dataset, recoding.with_columns(columns, class_of=class_of))
    merged = [labels[:4] for labels, node in zip(shown, node_of.tolist(), strict=True) if parent[node] == last]
    assert len(set(merged)) == 1
    for row, labels in zip(rows, shown, strict=True):
        assert all(covers(name, label, value) for name, label, value in zip(QI, labels, row, strict=False))

    columns, class_of = boxes.label_boxes(dataset, recoding.tree.merged(np.zeros_like(node_of)))
    assert set(class_of.tolist()) == {0}
    assert columns["town"].labels == ("*",)


def test_rows_that_were_dropped_before_take_no_part():
    rows = random_rows(60)
    dataset = dataset_of(rows)
    keep = np.arange(60) % 3 > 0
    recoding = anonymized(dataset, Mondrian(), KAnonymity(k=4), before=Recoding(keep_row=keep))
    shown = released(dataset, recoding)
    assert len(shown) == 40
    assert all(len(members) >= 4 for members in by_class(shown).values())
    assert (recoding.class_of[~keep] == -1).all()
    assert (recoding.tree.node_of_row[~keep] == -1).all()
    kept = [row for row, there in zip(rows, keep, strict=True) if there]
    for row, labels in zip(kept, shown, strict=True):
        assert all(covers(name, label, value) for name, label, value in zip(QI, labels, row, strict=False))
    _, merged = boxes.label_boxes(dataset, recoding.tree.merged(np.where(keep, 0, -1)))
    assert merged.tolist() == np.where(keep, 0, -1).tolist()


def test_parts_are_halved_when_cuts_go_too_deep(monkeypatch):
    monkeypatch.setattr(growth, "DEEP", 1)
    rows = [(2**exponent, "a", "cook", "low", "flu") for exponent in range(64)]
    dataset = dataset_of(rows)
    recoding = anonymized(dataset, Mondrian(lookahead=1), KAnonymity(k=2))
    assert recoding.facts["rounds"] <= 8
    assert all(len(members) >= 2 for members in by_class(released(dataset, recoding)).values())


@pytest.mark.parametrize("strict", [True, False])
def test_small_and_empty_tables(strict):
    options = Mondrian(strict=strict)
    assert anonymized(dataset_of([]), options, KAnonymity(k=5)).facts["classes"] == 0
    one = dataset_of(random_rows(1))
    assert anonymized(one, options, KAnonymity(k=1)).facts["classes"] == 1
    same = dataset_of(random_rows(1) * 10)
    assert anonymized(same, options, KAnonymity(k=3)).facts["classes"] == 1
    none = encode(pa.table({"x": ["a", "b"]}), Schema({"x": ColumnSpec(name="x", role=Role.SENSITIVE)}))
    assert anonymized(none, options, KAnonymity(k=2)).class_of.tolist() == [0, 0]


def test_twelve_columns_with_many_values():
    rng = np.random.default_rng(3)
    columns = {f"c{i}": rng.integers(0, 10 ** (i % 4 + 1), 300) for i in range(12)}
    specs = {name: ColumnSpec(name=name, role=Role.QUASI_IDENTIFIER) for name in columns}
    dataset = encode(pa.table(columns), Schema(specs))
    recoding = anonymized(dataset, Mondrian(), KAnonymity(k=5))
    assert np.bincount(recoding.class_of).min() >= 5
    assert recoding.facts["classes"] > 30


@pytest.mark.filterwarnings("ignore:overflow")  # where numbers are coded
def test_numbers_at_the_ends_of_the_scale():
    values = [-1.7e308, -1.6e308, 1.6e308, 1.7e308]
    dataset = encode(
        pa.table({"x": values}), Schema({"x": ColumnSpec(name="x", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER)})
    )
    assert anonymized(dataset, Mondrian(), KAnonymity(k=2)).class_of.tolist() == [0, 0, 1, 1]


def test_progress_counts_every_row_once():
    done, finished = [], []

    class Stage:
        def advance(self, steps=1):
            done.append(steps)

        def done(self):
            finished.append(True)

    class Watch:
        def stage(self, name, total=None):
            assert (name, total) == ("mondrian", 200)
            return Stage()

    dataset = dataset_of(random_rows(200))
    Mondrian().anonymize(dataset, Policy((KAnonymity(k=3),)), Recoding(), Workplace(progress=Watch()))
    assert sum(done) == 200
    assert finished == [True]


def test_what_cannot_be_is_refused_without_showing_values():
    dataset = dataset_of([(30, "a", "cook", "low", "flu"), (31, "b", "nurse", "low", "flu")])
    with pytest.raises(Unsatisfiable, match="at least 3 rows are asked for; the table has 2"):
        anonymized(dataset, Mondrian(), KAnonymity(k=3))
    with pytest.raises(Unsatisfiable, match="disease") as refused:
        anonymized(dataset, Mondrian(), LDiversity(sensitive="disease", l=2))
    assert "flu" not in str(refused.value)


def test_quasi_identifiers_that_hold_sets_are_refused():
    table = pa.table({"terms": ["a|b", "c"], "x": [1, 2]})
    columns = {
        "terms": ColumnSpec(name="terms", role=Role.QUASI_IDENTIFIER, kind=Kind.SET),
        "x": ColumnSpec(name="x", role=Role.QUASI_IDENTIFIER),
    }
    with pytest.raises(DataError, match="terms"):
        anonymized(encode(table, Schema(columns)), Mondrian(), KAnonymity(k=2))


@pytest.mark.parametrize(
    "wrong", [{"categories": "tree"}, {"cut": "median"}, {"lookahead": 0}, {"strict": "yes"}, {"value_sets": 1}]
)
def test_options_are_checked(wrong):
    with pytest.raises(PolicyError, match=next(iter(wrong))):
        Mondrian(**wrong)


def test_what_is_published_is_told_by_kind_and_bounds():
    assert Mondrian().shows(Kind.NUMBER, hierarchy=False) == "generalized to ranges between round numbers"
    periods = "generalized to ranges between first and last days of periods"
    assert Mondrian().shows(Kind.DATE, hierarchy=False) == periods
    assert "own figures" in Mondrian(bounds="exact").shows(Kind.NUMBER, hierarchy=False)


@pytest.mark.parametrize("unlinked", [None, "forbid"])
@pytest.mark.parametrize("asked", [{"model": "qs-closeness", "t": "0.5"}, {"model": "qs-diversity", "c": 3, "l": 2}])
def test_records_that_no_label_explains_are_the_reason_that_is_given(tmp_path, asked, unlinked):
    (tmp_path / "know.csv").write_text("lab,ts\nL0,t0|t1\nL1,t1|t2\n", encoding="utf-8")
    people = pa.table({"age": [*range(20, 60)], "sy": [["t0"], ["t2"], ["t1"]] * 13 + [["t0", "t2"]]})

    def made(unlinked):
        knowledge = {"path": "know.csv", "label": "lab", "terms": "ts", "separator": "|"}
        plan = {
            "columns": {"age": {"role": "quasi-identifier"}, "sy": {"role": "quasi-sensitive", "kind": "set"}},
            "knowledge": {**knowledge, **({"unlinked": unlinked} if unlinked else {})},
            "require": [{**asked, "column": "sy", "anonymizer": "mondrian"}],
        }
        return sf.anonymize(people, sf.Plan.from_dict(plan, tmp_path), seed=1)

    with pytest.raises(Unsatisfiable) as refused:
        made(unlinked)

    assert "no sensitive label explains 1 of 40 records" in str(refused.value)
    assert f'unlinked = "{unlinked or "ask"}"' in str(refused.value)
    assert "away from the prior" not in str(refused.value)
    assert all(verdict.satisfied for verdict in made("linked").verdicts)  # as the message says
