from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import scipy.optimize

from sfumato.anonymizers.base import Workplace
from sfumato.anonymizers.choosing import steps
from sfumato.anonymizers.masking import Masking, regions
from sfumato.anonymizers.masking import search as searching
from sfumato.anonymizers.masking.facts import numbered
from sfumato.anonymizers.masking.program import Program, solve
from sfumato.data.base_rates import BaseRates
from sfumato.data.builders import Flat, Given, Prefix, Widths
from sfumato.data.encoding import encode
from sfumato.data.hierarchy import Hierarchy
from sfumato.data.knowledge import PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.errors import DataError, PolicyError, Unsatisfiable
from sfumato.metrics.distortion import Distortion
from sfumato.models import AlphaDiversity, KAnonymity, LDiversity, MultiDiversity
from sfumato.models.base import Policy

ILLS = Hierarchy.from_nested({"lung": ["asthma", "flu"], "skin": ["acne", "eczema"], "blood": ["anaemia", "leukaemia"]})
JOBS = Hierarchy.from_nested({"state": ["clerk", "judge", "guard"], "free": ["cook", "smith", "painter"]})
SCHEMA = Schema(
    {
        "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, kind=Kind.NUMBER, hierarchy=Widths((10, 20, 40))),
        "sex": ColumnSpec(name="sex", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
        "ill": ColumnSpec(name="ill", role=Role.SENSITIVE, hierarchy=Given(ILLS)),
        "job": ColumnSpec(name="job", role=Role.SENSITIVE, hierarchy=Given(JOBS)),
    },
    missing=("?",),
)
MULTI = MultiDiversity(sensitive=["ill", "job"], alpha_sa=0.4)


def people(n=300, seed=1):
    """Return people whose job says much about their illness."""
    rng = np.random.default_rng(seed)
    jobs = rng.integers(0, 6, n)
    ills = np.where(rng.random(n) < 0.6, jobs, rng.integers(0, 6, n))
    return pa.table(
        {
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": [ILLS.leaves[i] for i in ills],
            "job": [JOBS.leaves[i] for i in jobs],
        }
    )


def masked(table, *models, schema=SCHEMA, before=None, rates=None, **options):
    dataset = encode(table, schema)
    names = dict.fromkeys(name for model in models for name in model.judged_columns)
    public = PublicInputs(base_rates=rates or {name: BaseRates.of(dataset.column(name)) for name in names})
    recoding = Masking(**options).anonymize(dataset, Policy(models), before or Recoding(), Workplace(public=public))
    release = Release.from_table(publish(dataset, recoding, []).table(), schema)
    return dataset, recoding, replace(release, public=public)


def distortion(dataset, release):
    return Distortion().measure(dataset, release).value


def test_sensitive_values_change_where_they_would_tell_too_much():
    dataset, recoding, release = masked(people(), MULTI)

    assert MULTI.audit(release).satisfied
    assert release.n_rows == dataset.n_rows
    labels = set(release.column("ill").labels)
    assert labels & {"lung", "skin", "blood", "*"}
    assert labels & set(ILLS.leaves)  # and not everywhere
    assert recoding.facts["masked_values"] > 0
    assert 0 <= recoding.facts["vacuous_share"] <= 1
    assert recoding.facts["worst_posterior"]["true"] >= recoding.facts["worst_posterior"]["pool"] - 1e-9 > 0


def test_searches_rank_as_they_promise_and_repeat():
    losses = {}
    for search in ("best", "fast", "paper"):
        dataset, recoding, release = masked(people(), MULTI, search=search)
        _, again, _ = masked(people(), MULTI, search=search)
        assert all(np.array_equal(recoding.columns[name].codes, again.columns[name].codes) for name in recoding.columns)
        losses[search] = distortion(dataset, release)
    assert losses["best"] <= losses["fast"] <= losses["paper"]


def test_too_many_regions_are_cut_from_the_top(monkeypatch):
    dataset, _, exact = masked(people(), MULTI, search="fast")
    monkeypatch.setattr(regions, "MOST_REGIONS", 1)
    _, _, greedy = masked(people(), MULTI, search="fast")

    assert MULTI.audit(greedy).satisfied
    assert distortion(dataset, greedy) < 2 * distortion(dataset, exact)
    assert len(set(greedy.column("age").labels)) > 1  # it did cut


def test_local_suppression_shows_values_or_nothing():
    _, _, release = masked(people(), MULTI, local_suppression=True)

    assert MULTI.audit(release).satisfied
    assert set(release.column("ill").labels) <= {*ILLS.leaves, "*"}
    assert set(release.column("job").labels) <= {*JOBS.leaves, "*"}


def test_vacuous_masks_become_fewer_when_they_are_avoided():
    _, plain, _ = masked(people(), MULTI)
    _, varied, release = masked(people(), MULTI, avoid_vacuous=True)

    assert MULTI.audit(release).satisfied
    assert plain.facts["vacuous_masked_values"] > 0
    assert varied.facts["vacuous_masked_values"] < plain.facts["vacuous_masked_values"]


def test_the_weight_says_which_loss_counts():
    by_weight = {}
    for weight in (0.05, 20.0):
        dataset, _, release = masked(people(), MULTI, search="fast", weight=weight)
        by_weight[weight] = Distortion().measure(dataset, release).facts
    assert by_weight[0.05]["quasi_identifiers"] <= by_weight[20.0]["quasi_identifiers"]
    assert by_weight[20.0]["sensitive"] <= by_weight[0.05]["sensitive"]


def test_k_is_the_largest_that_is_asked_for():
    _, _, release = masked(people(), MULTI, KAnonymity(k=12))

    assert KAnonymity(k=12).audit(release).satisfied
    assert MULTI.audit(release).satisfied


def with_a_rare_state(seed):
    """Return people of several states, one of which has a single row."""
    rng = np.random.default_rng(seed)
    n, states = int(rng.integers(300, 900)), int(rng.integers(5, 30))
    state = np.append(rng.choice(states, n - 1, p=rng.dirichlet(np.ones(states))), states)
    table = people(n, seed).drop_columns([["age"], ["sex"], [], ["age", "sex"], []][seed % 5])
    flat = ColumnSpec(name="state", role=Role.QUASI_IDENTIFIER, hierarchy=Flat())
    specs = {"state": flat, **{name: SCHEMA.columns[name] for name in table.column_names}}
    return table.append_column("state", pa.array([f"state {each}" for each in state])), Schema(specs)


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("seed", range(10))
def test_a_requirement_that_the_release_already_meets_hardly_lowers_the_loss(k, seed):
    table, schema = with_a_rare_state(seed)
    dataset = encode(table, schema)
    model = MultiDiversity(sensitive=["ill", "job"], alpha_sa=0.5, k=k)
    alone = distortion(dataset, masked(table, model, schema=schema)[2])
    for added, named in product((KAnonymity(k=k), LDiversity(sensitive="ill", l=2)), ("local-recoding", "mondrian")):
        first, second = steps(schema, Policy((added, model)), chosen={0: named}, options={})
        before = first.carry_out(dataset, Recoding(), Workplace(rng=np.random.default_rng(1)))
        assert alone <= distortion(dataset, masked(table, model, schema=schema, before=before)[2]) / 0.95
        assert second.anonymizer.name == "masking"


@pytest.mark.parametrize("search", ["best", "fast"])
def test_one_rare_value_does_not_keep_a_table_together(search):
    table, schema = with_a_rare_state(3)
    dataset, recoding, release = masked(table, replace(MULTI, k=2), schema=schema, search=search)

    assert recoding.facts["classes"] > 1
    assert Distortion().measure(dataset, release).facts["quasi_identifiers"] < 0.1


def test_a_table_without_quasi_identifiers_is_one_class():
    schema = Schema({name: SCHEMA.columns[name] for name in ("ill", "job")})
    _, recoding, release = masked(people().drop_columns(["age", "sex"]), MULTI, schema=schema)

    assert recoding.facts["classes"] == 1
    assert MULTI.audit(release).satisfied


def test_rows_that_stand_for_several_are_divided_as_the_same_rows_one_by_one():
    table, schema = with_a_rare_state(3)
    dataset = encode(table, schema)
    weights = np.arange(dataset.n_rows) % 3 + 1
    held = dataset.standing_for(np.arange(dataset.n_rows), weights)
    each = dataset.standing_for(np.repeat(np.arange(dataset.n_rows), weights), None)
    facts = []
    for given in (held, each):
        public = PublicInputs(base_rates={name: BaseRates.of(given.column(name)) for name in ("ill", "job")})
        made = Masking(search="fast").anonymize(given, Policy((MULTI,)), Recoding(), Workplace(public=public))
        facts.append((made.facts["classes"], made.facts["masked_values"]))
    assert facts[0] == facts[1]


def test_classes_of_a_step_before_are_kept():
    table = people(200)
    dataset = encode(table, SCHEMA)
    class_of = (np.arange(200) % 7).astype(np.int32)
    _, recoding, _ = masked(table, MULTI, before=Recoding(class_of=class_of))

    assert set(recoding.columns) == {"ill", "job"}
    assert np.array_equal(recoding.class_of, class_of)
    shown = publish(dataset, recoding, []).table()
    seen = shown.set_column(0, "age", pa.array(class_of.astype(str))).set_column(1, "sex", pa.array(["*"] * 200))
    rates = {name: BaseRates.of(dataset.column(name)) for name in ("ill", "job")}
    release = replace(Release.from_table(seen, SCHEMA), public=PublicInputs(base_rates=rates))
    assert MULTI.audit(release).satisfied


def test_classes_of_a_step_before_that_are_too_small_are_refused():
    class_of = np.arange(50).astype(np.int32)
    with pytest.raises(Unsatisfiable, match="Add k-anonymity with k = 3"):
        masked(people(50), MULTI, before=Recoding(class_of=class_of))


def test_rows_that_are_not_published_take_no_part():
    table = people(120)
    keep = np.arange(120) % 2 == 0
    dataset = encode(table, SCHEMA)
    rates = {name: BaseRates.of(dataset.column(name)) for name in ("ill", "job")}
    _, _, release = masked(table, MULTI, before=Recoding(keep_row=keep), rates=rates)

    assert release.n_rows == 60
    assert MULTI.audit(release).satisfied


def test_given_base_rates_decide_what_a_mask_hides():
    table = people()
    rates = {
        "ill": BaseRates(weight={leaf: 1 + 50 * (leaf == "flu") for leaf in ILLS.leaves}),
        "job": BaseRates(weight=dict.fromkeys(JOBS.leaves, 1)),
    }
    _, _, release = masked(table, MULTI, rates=rates)

    assert MULTI.audit(release).satisfied
    with pytest.raises(DataError, match="1 of the 6 values") as caught:
        masked(table, MULTI, rates=rates | {"job": BaseRates(weight=dict.fromkeys(JOBS.leaves[1:], 1))})
    assert JOBS.leaves[0] not in str(caught.value)


@pytest.mark.parametrize("search", ["best", "fast", "paper"])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_tables_and_single_values(search, n):
    single = MultiDiversity(sensitive=["ill", "job"], alpha_sa=0.5, k=1)
    table = pa.table({"age": [30] * n, "sex": ["f"] * n, "ill": ["flu"] * n, "job": ["cook"] * n})
    _, _, release = masked(table, single, search=search)
    assert single.audit(release).satisfied


def test_single_diversity_asks_for_less_than_multi_diversity():
    single = AlphaDiversity(sensitive=["ill", "job"], alpha=0.4)
    dataset, _, release = masked(people(), single)
    _, _, stricter = masked(people(), MULTI)

    assert single.audit(release).satisfied
    assert not MULTI.audit(release).satisfied
    assert distortion(dataset, release) < distortion(dataset, stricter)


def test_requirements_on_different_columns_are_met_together():
    models = (AlphaDiversity(sensitive="ill", alpha=0.3), MultiDiversity(sensitive=["ill", "job"], alpha_sa=0.6))
    _, _, release = masked(people(), *models)

    assert all(model.audit(release).satisfied for model in models)


def test_the_true_reading_says_how_far_it_can_be_met():
    table = people()
    with pytest.raises(Unsatisfiable, match="smallest alpha that can be reached is") as caught:
        masked(table, MultiDiversity(sensitive=["ill", "job"], alpha_sa=0.05, reading="true"))
    assert not any(leaf in str(caught.value) for leaf in (*ILLS.leaves, *JOBS.leaves))
    reachable = str(caught.value).split("reached is")[1].split('"')[1]
    assert Fraction(reachable) == max(
        Fraction(max(table.column(name).value_counts().field(1).to_pylist()), 300) for name in ("ill", "job")
    )
    model = MultiDiversity(sensitive=["ill", "job"], alpha_sa=reachable, reading="true")
    _, _, release = masked(table, model)
    assert model.audit(release).satisfied


def test_what_cannot_be_aimed_at_is_refused():
    with pytest.raises(PolicyError, match="l-diversity"):
        masked(people(), MULTI, LDiversity(sensitive="ill", l=2))
    with pytest.raises(PolicyError, match="different ways"):
        masked(people(), MULTI, AlphaDiversity(sensitive="ill", alpha=0.5, reading="uniform"))


def test_columns_without_hierarchies_are_named():
    bare = Schema({**SCHEMA.columns, "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER)})
    with pytest.raises(DataError, match=r"'age'.*\n.*bins"):
        masked(people(), MULTI, schema=bare)
    bare = Schema({**SCHEMA.columns, "ill": ColumnSpec(name="ill", role=Role.SENSITIVE)})
    with pytest.raises(DataError, match=r"'ill'.*\n.*flat = true"):
        masked(people(), MULTI, schema=bare)


def test_more_rows_than_there_are_cannot_be_asked_for():
    with pytest.raises(Unsatisfiable, match="the table has 20"):
        masked(people(20), MULTI, KAnonymity(k=21))


@pytest.mark.parametrize(
    "wrong",
    [
        {"search": "quick"},
        {"weight": 0},
        {"weight": "heavy"},
        {"local_suppression": 1},
        {"avoid_vacuous": "yes"},
        {"search": "paper", "avoid_vacuous": True},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(PolicyError):
        Masking(**wrong)


@pytest.mark.parametrize(
    "hierarchy",
    [Flat(), Prefix(1), Given(Hierarchy.from_nested({"a": ["q"], "b": ["zz"]}))],
    ids=["flat", "prefix", "given"],
)
@pytest.mark.parametrize("reading", ["prior", "uniform"])
def test_base_rates_may_list_values_that_the_data_lack(hierarchy, reading):
    schema = Schema(
        {
            "age": ColumnSpec(name="age", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
            "s": ColumnSpec(name="s", role=Role.SENSITIVE, hierarchy=hierarchy),
        }
    )
    model = AlphaDiversity(sensitive="s", alpha=0.5, reading=reading)
    table = pa.table({"age": ["1", "1", "2", "2"], "s": ["q"] * 4})
    _, _, release = masked(table, model, schema=schema, rates={"s": BaseRates(weight={"q": 5, "zz": 7})})

    assert model.audit(release).satisfied
    assert release.column("s").labels == ("*",)


def test_given_base_rates_bound_nothing_for_the_true_reading_and_that_is_said_before_the_audit():
    schema = Schema(
        {
            "q": ColumnSpec(name="q", role=Role.QUASI_IDENTIFIER, hierarchy=Flat()),
            "s": ColumnSpec(name="s", role=Role.SENSITIVE, hierarchy=Flat()),
            "t": ColumnSpec(name="t", role=Role.SENSITIVE, hierarchy=Flat()),
        }
    )
    table = pa.table({"q": list("aabb"), "s": list("prpr"), "t": list("xyxy")})
    model = MultiDiversity(sensitive=["s", "t"], alpha_sa="1/2", reading="true")
    counted = {
        "s": BaseRates(weight={"p": 2, "r": 2}, counted=True),
        "t": BaseRates(weight={"x": 2, "y": 2}, counted=True),
    }
    _, _, release = masked(table, model, schema=schema, rates=counted)

    assert model.audit(release).satisfied
    with pytest.raises(Unsatisfiable, match="leave out base_rates of 's', which are counted"):
        masked(table, model, schema=schema, rates=counted | {"s": BaseRates(weight={"p": 2, "r": 8})})


def test_only_the_classes_that_lose_most_for_their_size_get_a_program(monkeypatch):
    table, solved = people(400, seed=5), []
    usual = searching.linear_program.solve

    def counted(programs, rows):
        solved.extend(program.origin.size for program in programs)
        return usual(programs, rows)

    monkeypatch.setattr(searching.linear_program, "solve", counted)
    loss = {}
    for most in (0, 300, searching.MOST_VARIABLES):
        solved.clear()
        monkeypatch.setattr(searching, "MOST_VARIABLES", most)
        dataset, _, release = masked(table, MULTI)
        assert MULTI.audit(release).satisfied
        loss[most] = Distortion().measure(dataset, release).value
        assert sum(solved) <= 2 * most  # two divisions into classes are masked
    assert sum(solved) > 300
    assert sorted(loss.values(), reverse=True) == list(loss.values())


def test_programs_that_are_solved_at_once_have_the_answers_of_each_alone(monkeypatch):
    table, single, joined = people(200, seed=6), [], []

    def both(programs, rows):
        for program, answer in zip(programs, solve(programs, rows), strict=True):
            joined.append(program.loss @ answer)
        single.extend(program.loss @ solve([program], [each])[0] for program, each in zip(programs, rows, strict=True))
        return solve(programs, rows)

    monkeypatch.setattr(searching.linear_program, "solve", both)
    masked(table, MULTI)

    assert len(single) > 3
    # Rounded, programs with several best answers may differ by a row.
    assert sum(joined) == pytest.approx(sum(single), rel=0.05)


def with_pay(n, seed=3):
    """Return people of whom nearly everybody is paid something else."""
    rng = np.random.default_rng(seed)
    table = people(n, seed).append_column("pay", pa.array(rng.lognormal(10.5, 0.5, n).astype(np.int64)))
    pay = ColumnSpec(name="pay", role=Role.SENSITIVE, kind=Kind.NUMBER, hierarchy=Widths((1000, 10000, 50000)))
    return table, Schema({**SCHEMA.columns, "pay": pay}, missing=("?",))


@pytest.mark.slow
@pytest.mark.parametrize("search", ["best", "fast"])
@pytest.mark.parametrize("alpha_qi", [0.3, 0.6])
def test_a_column_with_very_many_values_is_masked_as_a_whole_where_that_loses_less(monkeypatch, search, alpha_qi):
    table, schema = with_pay(600)
    model = MultiDiversity(sensitive=["ill", "job", "pay"], alpha_sa=0.6, alpha_qi=alpha_qi)
    loss = {}
    for many in (10**9, regions.MANY_VALUES):
        monkeypatch.setattr(regions, "MANY_VALUES", many)
        dataset, _, release = masked(table, model, schema=schema, search=search)
        assert model.audit(release).satisfied
        loss[many] = Distortion().measure(dataset, release).value
    assert loss[regions.MANY_VALUES] <= loss[10**9] + 1e-12


@pytest.mark.parametrize("sample", [16, 10**9])
def test_pieces_that_are_priced_by_a_sample_make_a_release_that_holds(monkeypatch, sample):
    monkeypatch.setattr(regions, "MOST_REGIONS", 1)
    monkeypatch.setattr(regions, "SAMPLE", sample)
    table, schema = with_pay(400)
    model = MultiDiversity(sensitive=["ill", "job", "pay"], alpha_sa=0.5)
    _, _, release = masked(table, model, schema=schema, search="fast")

    assert model.audit(release).satisfied


@pytest.mark.parametrize("sample", [16, 10**9])
def test_a_piece_of_many_cells_stays_whole_where_no_part_is_large_enough(monkeypatch, sample):
    monkeypatch.setattr(regions, "MOST_REGIONS", 1)
    monkeypatch.setattr(regions, "SAMPLE", sample)
    _, recoding, release = masked(people(200), MULTI, KAnonymity(k=150))

    assert recoding.facts["classes"] == 1
    assert MULTI.audit(release).satisfied


def test_a_label_that_all_rows_share_keeps_no_piece_from_being_cut(monkeypatch):
    monkeypatch.setattr(regions, "MOST_REGIONS", 1)
    table = people(300)
    _, recoding, release = masked(table.set_column(1, "sex", pa.array(["f"] * 300)), MULTI)

    assert set(release.column("sex").labels) == {"f"}
    assert recoding.facts["classes"] > 1  # it was one, with * for all


@pytest.mark.slow
def test_cuts_from_the_top_do_not_depend_on_room(monkeypatch):
    """Work that runs out of room goes on with more where it was."""
    monkeypatch.setattr(regions, "MOST_REGIONS", 1)
    table, schema = with_pay(300)
    model = MultiDiversity(sensitive=["ill", "job", "pay"], alpha_sa=0.5)
    made = []
    for work in (1, regions.WORK):
        monkeypatch.setattr(regions, "WORK", work)
        made.append(masked(table, model, schema=schema)[2].table().to_pydict())
    assert made[0] == made[1]


@pytest.mark.parametrize("stuck", [1, 2])
def test_programs_that_the_solver_gives_up_together_are_solved_one_by_one(monkeypatch, stuck):
    usual = scipy.optimize.linprog

    def gives_up(loss, **options):
        found = usual(loss, **options)
        return SimpleNamespace(status=4) if stuck == 1 or loss.size > 1 else found

    one = Program(
        np.zeros(1, np.int64), np.zeros((1, 1), np.int64), np.ones(1), *np.zeros((2, 0), np.int64), np.zeros(0), 0
    )
    monkeypatch.setattr(scipy.optimize, "linprog", gives_up)

    found = solve([one, one], [np.array([3]), np.array([4])])

    assert [None if rows is None else rows.tolist() for rows in found] == ([None, None] if stuck == 1 else [[3], [4]])


def test_different_combinations_get_different_numbers():
    one, other, third = (np.array(codes) for codes in zip(*[*product(range(3), range(2), range(4))] * 2, strict=True))

    assert numbered(one, other, third).tolist() == [*range(24)] * 2
