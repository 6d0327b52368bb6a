"""Spellings of one value: found among distinct values, refused or read as one, and never two of them in a release."""

from __future__ import annotations

import pickle
import random
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from in_parts import Here
from sfumato.data.builders import NestedHierarchy
from sfumato.data.encoding import Codebooks, add_tallies, encode, tally
from sfumato.data.knowledge_reading import read_knowledge
from sfumato.data.recoding import Recoding
from sfumato.data.release import Release, publish
from sfumato.data.schema import ColumnSpec, Kind, Role, Schema
from sfumato.data.strays import StrayKind
from sfumato.data.variants import JUDGED_ROLES, keys_of, look_alike, variants_among
from sfumato.engines.seeing import release_seen
from sfumato.errors import DataError
from sfumato.pipeline.facts import without_values
from sfumato.pipeline.judging import judge
from sfumato.pipeline.known import Known

HIV = ["HIV", "hiv", "HIV ", "Hiv", "HIV\u00a0"]
TWO_FORMS = [unicodedata.normalize(form, "Morbus Ménière") for form in ("NFC", "NFD")]


def plan_of(role="sensitive", requirement=None, *, normalize=False, source=None, **more):
    requirement = requirement or {"model": "l-diversity", "sensitive": "illness", "l": 2, "kind": "distinct"}
    return sf.Plan.from_dict(
        {
            "source": {"normalize": normalize, **(source or {})},
            "columns": {"sex": {"role": "quasi-identifier"}, "illness": {"role": role, **more}},
            "require": [requirement],
        }
    )


def table_of(cells):
    return pa.table({"sex": ["f"] * len(cells), "illness": cells})


# Finding them.


def slowly_the_same(one: str, two: str) -> bool:
    """Whether two texts are spellings of one value, by definition."""

    def plain(text: str) -> str:
        return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text.strip()).casefold())

    return plain(one) == plain(two)


@pytest.mark.slow
@pytest.mark.parametrize("letters", ["aAbB \u00a0\t", "aÀà\u0300Áß\u1e9eSs \u3000\u03a3\u03c3\u03c2"])
def test_the_same_values_are_found_as_by_comparing_each_with_each(letters):
    chance = random.Random(7)
    for _ in range(60):
        texts = sorted({"".join(chance.choices(letters, k=chance.randint(1, 4))) for _ in range(12)})
        counts = [chance.randint(1, 3) for _ in texts]
        groups = {
            tuple(sorted((other for other in texts if slowly_the_same(text, other)), key=lambda each: each))
            for text in texts
        }
        several = {group for group in groups if len(group) > 1}

        found = variants_among(pa.array(texts), np.array(counts))

        often = dict(zip(texts, counts, strict=True))
        shown = {} if found is None else found.others
        assert {tuple(sorted((kept, *others))) for kept, others in shown.items()} == several
        for kept, others in shown.items():
            assert all((-often[kept], kept) < (-often[other], other) for other in others)


def test_a_word_of_the_plan_goes_before_what_is_more_frequent():
    found = variants_among(pa.array(["hiv", "HIV", "flu"]), np.array([9, 1, 5]), ["HIV", "Cold"])
    assert found.others == {"HIV": ("hiv",)}
    assert variants_among(pa.array(["hiv"]), np.array([9]), ["HIV"]).others == {"HIV": ("hiv",)}
    assert variants_among(pa.array(["HIV"]), np.array([9]), ["HIV", "hiv"]) is None
    assert variants_among(pa.array([], pa.string()), np.array([], np.int64), ["HIV"]) is None


@pytest.mark.slow
def test_values_that_only_look_alike_are_counted():
    assert look_alike(pa.array(["P-1", "P1", "P\u200b1", "P 2", "P2", "P3"])) == 5
    assert look_alike(pa.array(["sore throat", "sore\u00a0throat", "sore-throat", "fever"])) == 3
    for apart in (["1.5", "15", "-1", "1"], ["A+", "A-", "A", "AB+"], ["<=50K", ">50K"], ["2024-01-11", "2024-0111"]):
        assert look_alike(pa.array(apart)) == 0
    assert keys_of(pa.array(["P\u200b1"])).to_pylist() == ["p\u200b1"]  # another value


# Reading them.


@pytest.mark.parametrize("role", sorted(JUDGED_ROLES))
@pytest.mark.parametrize("kind", [None, Kind.SET])
@pytest.mark.parametrize("cells", [HIV, TWO_FORMS], ids=["five", "forms"])
def test_spellings_are_refused_or_read_as_one(role, kind, cells):
    kind = Kind.SET if role is Role.ITEMS else kind
    schema = Schema({"illness": ColumnSpec(name="illness", role=role, kind=kind)})
    table = pa.table({"illness": [*cells, cells[0], "flu"]})
    if kind is Kind.SET:
        table = pa.table({"illness": [[cell] for cell in table["illness"].to_pylist()]})

    with pytest.raises(DataError, match=r"1 value.s. in . spellings.*\n.*normalize = true") as caught:
        encode(table, schema)
    assert "hiv" not in str(caught.value).lower()
    assert "morbus" not in str(caught.value).lower()

    column = encode(table, Schema(schema.columns, normalize=True)).columns["illness"]
    assert set(column.labels) == {cells[0], "flu"}
    assert set(column.spellings) == {cells[0]}


def test_spellings_in_quasi_identifiers_and_of_numbers_and_dates_stay():
    schema = Schema.of(city="quasi-identifier", dose="sensitive", day="sensitive", sick="sensitive")
    table = pa.table(
        {
            "city": ["Rome", "rome", "ROME"],
            "dose": ["1e2", "1E2", "7"],
            "day": ["2024-05-31", "2024-05-30", "2024-05-29"],
            "sick": [True, False, True],
        }
    )
    assert encode(table, schema).columns["city"].labels == ("ROME", "Rome", "rome")
    assert encode(table, schema).columns["dose"].labels == ("7", "1E2")


def test_blanks_are_a_missing_value():
    schema = Schema.of(illness="sensitive")
    table = pa.table({"illness": ["flu", " ", "", "\u00a0"]})
    with pytest.raises(DataError, match=r"1 value.s. in 3 spellings"):
        encode(table, schema)
    column = encode(table, Schema(schema.columns, normalize=True)).columns["illness"]
    assert (column.labels, column.missing, column.codes.tolist()) == (("flu", ""), 1, [0, 1, 1, 1])


def test_the_spelling_of_hierarchy_domain_and_sensitive_items_is_kept():
    tree = NestedHierarchy({"virus": ["Flu", "HIV"]})
    specs = {
        "ill": ColumnSpec(name="ill", role=Role.SENSITIVE, hierarchy=tree),
        "grade": ColumnSpec(name="grade", role=Role.SENSITIVE, kind=Kind.ORDERED, domain=("Low", "High")),
        "basket": ColumnSpec(name="basket", role=Role.ITEMS, sensitive_items=("HIV",)),
    }
    table = pa.table({"ill": ["hiv", "flu"], "grade": ["low", "HIGH"], "basket": [["age", "hiv"], ["age"]]})
    specs["drawn"] = ColumnSpec(
        name="drawn", role=Role.SENSITIVE_QUASI_IDENTIFIER, kind=Kind.SET, domain=("HIV", "flu")
    )
    table = table.append_column("drawn", [["hiv|FLU", "flu"]])
    columns = encode(table, Schema(specs, normalize=True)).columns
    assert columns["drawn"].labels == ("HIV", "flu")
    assert columns["drawn"].spellings == {"HIV": ("hiv",), "flu": ("FLU",)}
    assert columns["ill"].labels == ("Flu", "HIV")
    assert columns["grade"].labels == ("Low", "High")
    assert columns["basket"].labels == ("HIV", "age")
    assert columns["basket"].sensitive.tolist() == [True, False]
    for name in ("grade", "basket", "drawn"):
        with pytest.raises(DataError, match=r"spellings"):
            encode(table.select([name]), Schema({name: specs[name]}))


def test_tallies_of_parts_are_read_as_those_of_the_whole():
    schema = Schema(rest=Role.SENSITIVE, normalize=True)
    table = pa.table({"a": ["hiv", "flu", "HIV", "hiv", "HIV", "HIV "]})
    parts = [table.slice(0, 2), table.slice(2, 2), table.slice(4)]
    for order in (parts, parts[::-1]):
        books = Codebooks.of(add_tallies(tally(part, schema) for part in order), schema)
        assert books.by_column["a"].column.labels == ("HIV", "flu")
        assert [books.encode(part).column("a").codes.tolist() for part in parts] == [[0, 1], [0, 0], [0, 0]]
        assert books.by_column["a"].counts.tolist() == [5, 1]


# Publishing and judging.


@pytest.mark.slow
def test_five_spellings_of_one_illness_are_not_diverse():
    requirement = {"model": "l-diversity", "sensitive": "illness", "l": 5, "kind": "frequency"}
    table = table_of(HIV * 4)
    with pytest.raises(DataError, match=r"1 value.s. in 5 spellings"):
        sf.anonymize(table, plan_of(requirement=requirement))
    with pytest.raises(sf.SfumatoError, match="illness") as caught:
        sf.anonymize(table, plan_of(requirement=requirement, normalize=True))
    assert "spelling" not in str(caught.value)


@pytest.mark.slow
def test_a_release_shows_one_spelling_and_the_private_report_names_the_others(tmp_path):
    pa_parquet.write_table(table_of([*HIV, *TWO_FORMS, "flu"] * 3), tmp_path / "rows.parquet")
    plan = plan_of(normalize=True, source={"path": str(tmp_path / "rows.parquet")})

    run = sf.run(plan, tmp_path / "run", measure=False, attack=False)

    assert set(run.release.data["illness"].to_pylist()) == {"HIV", "flu", TWO_FORMS[1]}
    others = {"HIV": sorted(set(HIV) - {"HIV"}), TWO_FORMS[1]: [TWO_FORMS[0]]}  # as often, so in the order of text
    assert run.facts["spellings"] == {"illness": others}
    assert "spellings" not in without_values(run.facts)
    (warning,) = [each for each in run.facts["warnings"] if "spelling" in each]
    assert "2 value(s) in 7 spellings" in warning
    assert "HIV" not in warning
    page = (tmp_path / "run" / "private" / "report.html").read_text(encoding="utf-8")
    assert "Spellings that were read as one value" in page
    assert "“Hiv”" in page
    public = [path.read_bytes() for path in (tmp_path / "run" / "release").iterdir()]
    assert not any(b"hiv" in each or b"Hiv" in each for each in public)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("cells", [["HIV", "hiv"], TWO_FORMS, ["HIV", "HIV\u00a0"], ["", " "]])
def test_an_audit_fails_where_a_table_shows_two_spellings(cells, normalize):
    """Whether they are one value or two: who publishes them again shows one."""
    plan = plan_of(normalize=normalize)
    assert all(verdict.satisfied for verdict in sf.audit(table_of(["HIV", "flu"] * 3), plan))
    verdicts = sf.audit(table_of([*cells, "flu"] * 3), plan)
    assert [verdict.model.name for verdict in verdicts if not verdict.satisfied] == ["l-diversity", "nothing-else"]
    assert all("1 value(s) in 2 spellings" in verdict.finding for verdict in verdicts)


@pytest.mark.slow
def test_a_spelling_of_a_sensitive_item_is_not_published_as_harmless():
    requirement = {"model": "rho-uncertainty", "column": "illness", "rho": "0.2"}
    asked = {"role": "items", "kind": "set", "sensitive_items": ["HIV"], "requirement": requirement}
    table = table_of([["age", "hiv"]] * 9 + [["x", "y"]] * 10)
    with pytest.raises(DataError, match=r"1 value.s. in 2 spellings"):
        sf.anonymize(table, plan_of(**asked))
    assert not all(verdict.satisfied for verdict in sf.audit(table, plan_of(**asked)))
    run = sf.anonymize(table, plan_of(**asked, normalize=True))
    cells = [cell for cell in run.release.data["illness"].to_pylist() if "age" in cell]
    assert sum("HIV" in cell for cell in cells) <= 0.2 * len(cells)
    assert not any("hiv" in cell for cell in run.release.data["illness"].to_pylist())


def test_a_group_may_be_named_as_a_value_in_it():
    tree = NestedHierarchy({"Asthma": ["asthma", "wheeze"], "other": ["gout", "cold"]})
    schema = Schema.of(illness={"role": "sensitive", "hierarchy": tree})
    kinds = [stray.kind for stray in Release.from_table(pa.table({"illness": ["Asthma", "asthma"]}), schema).strays]
    assert kinds == []
    two = Release.from_table(pa.table({"illness": ["Asthma", "asthma", "ASTHMA"]}), schema)
    assert [stray.kind for stray in two.strays] == [StrayKind.SPELLINGS]


@pytest.mark.parametrize("most", [1, 100], ids=["in parts", "at once"])
@pytest.mark.parametrize("role", ["sensitive", "items"])
def test_spellings_in_different_files_are_found(tmp_path, most, role):
    requirement = None if role == "sensitive" else {"model": "rho-uncertainty", "column": "illness", "rho": "0.9"}
    plan = plan_of(role=role, requirement=requirement, **({} if role == "sensitive" else {"sensitive_items": ["x"]}))
    (tmp_path / "table").mkdir()
    (tmp_path / "room").mkdir()
    for number, cell in enumerate(["HIV", "hiv"]):
        table = pa.table({"sex": ["f", "m"], "illness": [cell, cell] if role == "sensitive" else [[cell], [cell]]})
        pa_parquet.write_table(table, tmp_path / "table" / f"part-{number}.parquet")
    seen = release_seen(Here(), tmp_path / "room", tmp_path / "table", plan.schema, plan.policy, most)
    assert [stray.kind for stray in seen.strays] == [StrayKind.SPELLINGS]
    assert not any(verdict.satisfied for verdict in judge(seen, plan.policy, Known(seen.public)))


# Numbers of people.


def stays(folder, numbers, **more):
    rows = "".join(f"{number};f\n" for number in numbers)
    (folder / "rows.csv").write_text(f"pid;sex\n{rows}", encoding="utf-8")
    return sf.Plan.from_dict(
        {
            "source": {"path": "rows.csv", "person": "pid", **more.pop("source", {})},
            "columns": {"sex": {"role": "quasi-identifier"}},
            "require": [{"model": "k-anonymity", "k": 3}],
            **more,
        },
        folder,
    )


@pytest.mark.parametrize("kept", [{"release": {"persons": "numbered"}}, {"gather": {}}], ids=["numbered", "gathered"])
def test_spellings_of_a_number_are_one_person(tmp_path, kept):
    numbers = ["P1", "p1", "P1 ", "P\u200b1", "P2", "P3"]
    for plan in (stays(tmp_path, numbers, **kept), stays(tmp_path, numbers, **kept, source={"normalize": True})):
        if not plan.schema.normalize:
            for act in (lambda: sf.run(plan, tmp_path / "run"), lambda: plan.explain(every_row=True)):  # noqa: B023
                with pytest.raises(DataError, match=r"1 of 4 numbers in 3 spellings.*\n.*normalize = true"):
                    act()
            continue
        run = sf.run(plan, tmp_path / "run", measure=False, attack=False)
        assert run.verdicts[0].reached == 4
        warned = " ".join(run.facts["warnings"])
        assert "1 of 4 numbers in 3 spellings" in warned
        assert (
            "2 values that differ from another value only in blanks" in warned
        )  # P1, and that with an invisible letter


def test_events_of_people_in_other_spellings_are_theirs_or_refused(tmp_path):
    (tmp_path / "drugs.csv").write_text("pid;drug\np1;a\nP2;b\n", encoding="utf-8")
    events = [{"path": "drugs.csv", "columns": {"drugs": {"set": "drug"}}}]
    more = {"gather": {"events": events}, "columns": {"sex": {"role": "quasi-identifier"}, "drugs": {"role": "other"}}}
    numbers = ["P1", "P2", "P3"]
    with pytest.raises(DataError, match=r"1 of them otherwise"):
        sf.run(stays(tmp_path, numbers, **more), tmp_path / "run")
    run = sf.run(stays(tmp_path, numbers, **more, source={"normalize": True}), tmp_path / "run")
    assert sorted(run.release.data["drugs"].to_pylist()) == ["", "a", "b"]


# Files that a plan reads, and drafts.


def test_labels_of_a_knowledge_table_have_one_spelling(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("label,term\nHIV,fever\nhiv,cough\nHIV,rash\nflu,Cough\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"1 value.s. in 2 spellings"):
        read_knowledge(path, label="label", terms="term")
    known = read_knowledge(path, label="label", terms="term", normalize=True)
    assert (known.labels, known.terms) == (("HIV", "flu"), ("Cough", "cough", "fever", "rash"))


@pytest.mark.slow
def test_a_draft_of_a_table_with_several_spellings_runs_as_it_is(tmp_path):
    chance = random.Random(3)
    illnesses = [*HIV, "flu", "cold", "Cold", "gout", *TWO_FORMS]
    rows = [f"{chance.randint(20, 79)};{chance.choice('fm')};{chance.choice(illnesses)}" for _ in range(200)]
    (tmp_path / "rows.csv").write_text("age;sex;diagnosis\n" + "\n".join(rows) + "\n", encoding="utf-8")
    draft = sf.draft(tmp_path / "rows.csv")
    assert draft.plan.schema.normalize
    run = sf.run(draft.plan, tmp_path / "run", measure=False, attack=False)
    assert all(verdict.satisfied for verdict in run.verdicts)
    clean = sf.draft(pa.table({"age": [30, 40] * 20, "diagnosis": ["flu", "cold"] * 20}))
    assert "normalize" not in clean.text


def test_spellings_of_terms_are_left_to_the_knowledge_table_and_those_of_yes_are_not():
    table = pa.table({"symptoms": [["fever"], ["Fever"]]})
    terms = Schema.of(symptoms="quasi-sensitive")
    assert encode(table, terms).columns["symptoms"].labels == ("Fever", "fever")
    assert Release.from_table(table, terms).strays == ()
    ticked = Schema.of(fever={"role": "quasi-sensitive", "present": ("yes",)})
    with pytest.raises(DataError, match=r"1 value.s. in 2 spellings"):
        encode(pa.table({"fever": ["Yes", ""]}), ticked)
    (stray,) = Release.from_table(pa.table({"fever": ["Yes", ""]}), ticked).strays
    assert stray.kind is StrayKind.SPELLINGS


@pytest.mark.parametrize("domain", [None, ("HIV", "flu")])
def test_nothing_of_other_spellings_is_in_what_is_published(domain):
    role = Role.ITEMS if domain is None else Role.SENSITIVE_QUASI_IDENTIFIER
    specs = {"basket": ColumnSpec(name="basket", role=role, kind=Kind.SET, domain=domain)}
    dataset = encode(pa.table({"basket": ["HIV|flu", "hiv", "HIV"]}), Schema(specs, normalize=True))
    assert dataset.columns["basket"].spellings == {"HIV": ("hiv",)}
    assert b"hiv" not in pickle.dumps(publish(dataset, Recoding(), ()))
