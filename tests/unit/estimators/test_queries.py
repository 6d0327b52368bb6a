"""Questions to a release: filters, errors, what an analyst gets, from the folder alone."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

import sfumato as sf
from sfumato.data.files.release import read_release
from sfumato.errors import DataError, OutputError, PolicyError
from sfumato.estimators import Axis, CrossTable, Expectation, queries, query, reconstruct
from sfumato.plan import Plan


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    n = 6000
    job = rng.choice(["clerk", "cook", "nurse", "smith"], n, p=[0.4, 0.3, 0.2, 0.1])
    sex = np.where(rng.random(n) < np.where(job == "nurse", 0.8, 0.4), "F", "M")
    age = rng.integers(20, 60, n)
    return pa.table({"id": np.arange(n), "job": job, "sex": sex, "age": age, "town": rng.choice(["A", "B"], n)})


@pytest.fixture(scope="module", params=["csv", "parquet"])
def folder(request, people, tmp_path_factory):
    base = tmp_path_factory.mktemp("release")
    pa_parquet.write_table(people, base / "people.parquet")
    plan = Plan.from_dict(
        {
            "source": {"path": "people.parquet"},
            "columns": {
                "id": {"role": "identifier"},
                "job": {
                    "role": "sensitive-quasi-identifier",
                    "domain": ["smith", "nurse", "cook", "clerk", "pilot"],
                },
                "sex": {"role": "sensitive-quasi-identifier", "domain": ["F", "M"]},
                "age": {"role": "sensitive-quasi-identifier", "bins": [20, 30, 40, 50, 60]},
                "town": {"role": "other"},
            },
            "require": [
                {"model": "sensitive-qid-diversity", "l": {"job": 2, "age": 2}},
                {"model": "sensitive-qid-closeness", "t": {"sex": 0.3}},
            ],
            "release": {"format": request.param},
        },
        base,
    )
    sf.run(plan, base / "out", seed=3)
    return base / "out" / "release"


@pytest.mark.slow
def test_an_analyst_needs_the_release_folder_only(folder, people):
    answer = sf.reconstruct(folder, ["job", "town"])
    assert answer.counts.shape == (5, 2)
    assert answer.axes[0].labels == ("smith", "nurse", "cook", "clerk", "pilot")
    pairs = list(zip(people["job"].to_pylist(), people["town"].to_pylist(), strict=True))
    truth = np.array([[pairs.count((job, town)) for town in ("A", "B")] for job in answer.axes[0].labels])
    low, high = answer.interval(4)
    assert ((low <= truth) & (truth <= high)).all()
    assert answer.method == "auto"
    assert answer.expected.l2 > 0
    assert "job x town" in str(answer)
    assert "smith" in answer._repr_html_()
    table = answer.table()
    assert table.column_names == ["job", "town", "count", "std_error"]
    assert table.num_rows == 10


def test_filters_on_ordinary_and_on_randomized_columns(folder, people):
    release = read_release(folder)
    in_a = reconstruct(release, ["job"], where={"town": "A"}, method="inverse")
    assert in_a.counts.sum() == pytest.approx(sum(town == "A" for town in people["town"].to_pylist()))
    women = reconstruct(release, ["job"], where={"sex": "F"})
    both = reconstruct(release, ["job", "sex"])
    assert women.counts == pytest.approx(both.counts[:, 0])
    assert women.std_error == pytest.approx(both.std_error[:, 0])
    assert women.columns == ("job",)


def test_the_expected_error_is_known_before_any_work(folder):
    expected = sf.expect(folder, ["job", "age", "sex"])
    assert expected.cells == 5 * 4 * 2
    assert expected.rows == 6000
    assert expected.outlook in ("good", "doubtful")
    assert json.dumps(expected.as_dict())


def test_columns_that_were_not_randomized_have_no_error_to_speak_of(folder):
    expected, answer = sf.expect(folder, ["town"]), sf.reconstruct(folder, ["town"])

    assert expected.outlook == answer.outlook == "exact"
    assert "none of these columns was randomized" in str(expected)
    assert str(answer) == "town: 2 cells as published (exact)"
    assert not answer.uncertain.any()


def test_cells_whose_error_exceeds_their_count_are_marked():
    axes = tuple(Axis(name, ("no", "yes"), eta=1, p=0.5) for name in ("a", "b"))
    expected = Expectation(("a", "b"), rows=8000, cells=4, l2=0.01, margins=(("a",),))
    counts, error = np.array([[7334.0, 600.0], [50.0, 16.0]]), np.array([[8000.0, 100.0], [90.0, 90.0]])

    answer = CrossTable(axes=axes, counts=counts, std_error=error, method="auto", iterations=3, expected=expected)

    assert answer.uncertain.tolist() == [[True, False], [True, True]]
    assert expected.outlook == "good"  # but most cells turn out to tell nothing
    assert (answer.outlook, answer.as_dict()["outlook"], answer.as_dict()["uncertain_cells"]) == ("doubtful",) * 2 + (
        3,
    )
    assert str(answer) == (
        "a x b: 4 cells by auto (3 iterations) (doubtful). The standard error exceeds the count in 3 of them. "
        "Tables of fewer columns that are good: a"
    )
    assert answer._repr_html_().count("<td>?</td>") == 3


def test_margins_that_are_usable_are_named_before_any_work(people):
    secret = {"role": "sensitive-quasi-identifier", "domain": "data"}
    plan = Plan.from_dict(
        {
            "columns": {"job": secret, "sex": secret, "town": {"role": "other"}},
            "require": [{"model": "sensitive-qid-closeness", "t": {"job": 0.3, "sex": 0.3}}],
        }
    )
    release = sf.anonymize(people.select(["job", "sex", "town"]).slice(0, 500), plan, seed=1).release

    expected = sf.expect(release, ["job", "sex", "town"])

    assert expected.l2 < 0.2  # which alone would call it good
    assert expected.cell_error == pytest.approx(expected.l2 * np.sqrt(expected.cells))
    assert expected.outlook == "doubtful"
    assert expected.margins
    for margin in expected.margins:
        assert sf.expect(release, margin).outlook in ("good", "exact")
        assert " x ".join(margin) in str(expected)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_answers_are_written_as_files(folder, tmp_path, ending):
    answer = sf.reconstruct(folder, ["age"], method="paper")
    path = tmp_path / f"answer.{ending}"
    answer.write(path)
    read = pa_csv.read_csv(path) if ending == "csv" else pa_parquet.read_table(path)
    assert read.column("age").to_pylist() == list(answer.axes[0].labels)
    assert read.column("count").to_pylist() == pytest.approx(answer.counts.tolist())
    with pytest.raises(OutputError):
        answer.write(path)
    with pytest.raises(OutputError, match="csv or"):
        answer.write(tmp_path / "answer.xls")


@pytest.mark.parametrize(
    ("columns", "where", "message"),
    [
        ([], {}, "of no columns"),
        (["id"], {}, "does not have it"),
        (["jab"], {}, "Did you mean 'job'"),
        (["job", "job"], {}, "named twice"),
        (["job"], {"job": "nurse"}, "named twice"),
        (["job"], {"sex": "X"}, "no such value"),
        (["job"], {"town": "C"}, "no such value"),
    ],
)
def test_questions_that_make_no_sense_are_refused(folder, columns, where, message):
    with pytest.raises(DataError, match=message):
        query(read_release(folder), columns, where)


def test_a_table_beyond_the_budget_is_refused_before_it_is_counted(folder, monkeypatch):
    monkeypatch.setattr(queries, "MOST_CELLS", 10)
    with pytest.raises(DataError, match="20 cells"):
        reconstruct(read_release(folder), ["job", "age"])


def test_an_unknown_method_is_refused(folder):
    with pytest.raises(PolicyError, match="Did you mean 'paper'"):
        sf.reconstruct(folder, ["job"], method="papre")


def test_a_frame_does_not_say_how_it_was_randomized(people):
    with pytest.raises(DataError, match="release folder"):
        sf.reconstruct(people, ["job"])


@pytest.mark.parametrize(
    "damage",
    [
        lambda about: about["columns"]["job"].pop("p"),
        lambda about: about["columns"]["job"].update(eta=9),
        lambda about: about["columns"]["job"].update(eta=3),
        lambda about: about["columns"]["job"].update(p="much"),
        lambda about: about["columns"]["job"].update(domain=7),
        lambda about: about["columns"]["job"].update(domain=["smith", "nurse"]),
        lambda about: about.update(rows=5),
        lambda about: about.update(format=99),
        lambda about: about.pop("columns"),
    ],
)
def test_a_damaged_description_is_noticed(folder, tmp_path, damage):
    copy = tmp_path / "release"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    about = json.loads((copy / "release.json").read_text(encoding="utf-8"))
    damage(about)
    (copy / "release.json").write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(DataError):
        sf.reconstruct(copy, ["job"])


def test_a_folder_without_description_is_no_release(folder, tmp_path):
    data = next(file for file in folder.iterdir() if file.name.startswith("data"))
    (tmp_path / data.name).write_bytes(data.read_bytes())
    with pytest.raises(DataError, match=r"release\.json"):
        sf.reconstruct(tmp_path, ["job"])
    (tmp_path / "release.json").write_text("{ not json", encoding="utf-8")
    with pytest.raises(DataError, match=r"release\.json"):
        sf.reconstruct(tmp_path, ["job"])


def test_a_column_published_as_its_whole_domain_tells_nothing(people):
    plan = Plan.from_dict(
        {
            "columns": {
                "*": {"role": "identifier"},
                "sex": {"role": "sensitive-quasi-identifier", "domain": ["F", "M"]},
            },
            "require": [{"model": "sensitive-qid-diversity", "l": {"sex": 2}, "small_domain": "suppress"}],
        }
    )
    run = sf.anonymize(people, plan)
    with pytest.raises(DataError, match="nothing can be told"):
        sf.reconstruct(run.release, ["sex"])
    assert sf.audit(run.release, plan)[0].satisfied
