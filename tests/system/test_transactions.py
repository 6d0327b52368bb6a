"""Transaction files and set columns, from the command line: what a retailer or a clinic types, and what goes wrong."""

from __future__ import annotations

import csv
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import sfumato

csv.field_size_limit(10_000_000)
PLAN = """
[source]
path = "baskets.txt"
[columns.items]
role = "items"
sensitive_items = "sensitive.txt"
[[require]]
model = "rho-uncertainty"
column = "items"
rho = "0.5"
"""


def baskets(n=400, seed=1):
    rng = random.Random(seed)
    return [[f"item{rng.randrange(1 + rng.randrange(30))}" for _ in range(rng.randrange(5))] for _ in range(n)]


@pytest.fixture
def shop(tmp_path):
    lines = [" ".join(basket) for basket in baskets()]
    (tmp_path / "baskets.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "sensitive.txt").write_text("item1\nitem4\nitem9\nnever bought\n", encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def released(folder, column="items", separator="|"):
    with (folder / "release" / "data.csv").open(newline="", encoding="utf-8") as file:
        return [set(filter(None, row[column].split(separator))) for row in csv.DictReader(file)]


def test_a_transaction_file_becomes_a_safe_release(shop):
    done = sfumato("anonymize", "plan.toml", "--out", "out", "--seed", 1, cwd=shop)
    assert done.returncode == 0, done.stderr
    facts = json.loads((shop / "out" / "private" / "run.json").read_text(encoding="utf-8"))
    before, after = baskets(), released(shop / "out")

    assert len(after) == len(before)  # empty records stay
    assert sum(not basket for basket in after) >= sum(not basket for basket in before) > 0
    assert any("1 of 4 sensitive items never occur" in warning for warning in facts["warnings"])
    inside = facts["steps"][0]["facts"]["items"]
    assert inside["occurrences"] == sum(len(set(basket)) for basket in before)
    assert inside["withheld"] == inside["occurrences"] - sum(map(len, after))
    assert facts["verdicts"][0]["reached"] <= 0.5

    audited = sfumato("audit", "out", "--plan", "plan.toml", "--json", cwd=shop)
    assert audited.returncode == 0
    original = sfumato("audit", "baskets.txt", "--plan", "plan.toml", "--name-items", cwd=shop)
    assert original.returncode == 1
    assert "worst rule: " in original.stdout
    hidden = sfumato("audit", "baskets.txt", "--plan", "plan.toml", "--json", cwd=shop)
    assert "item" not in json.dumps(json.loads(hidden.stdout)["verdicts"][0]["facts"]).replace("items", "")

    attacked = sfumato("attack", "out", "--plan", "plan.toml", "--json", cwd=shop)
    assert attacked.returncode == 0, attacked.stderr
    exposures = [found for found in json.loads(attacked.stdout)["attacks"] if found["attack"] == "rule-inference"]
    assert len(exposures) == 3
    assert all(found["after"]["exposed"] == 0 < found["before"]["exposed"] for found in exposures)


def test_the_same_seed_gives_the_same_bytes(shop):
    for out, threads in (("one", 1), ("two", 2)):
        done = sfumato("anonymize", "plan.toml", "--out", out, "--seed", 7, "--threads", threads, cwd=shop)
        assert done.returncode == 0, done.stderr
    first, second = ((shop / out / "release" / "data.csv").read_bytes() for out in ("one", "two"))

    assert first == second


def test_permutation_is_refused_by_the_audit_and_writes_nothing(shop):
    (shop / "plan.toml").write_text(PLAN.replace('"0.5"', '"0.2"\nanonymizer = "permutation"'), encoding="utf-8")
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=shop)

    assert done.returncode == 1
    assert "The audit rejected the release" in done.stderr
    assert not (shop / "out").exists()


def test_a_set_column_of_a_csv_file_and_lists_of_parquet_do_as_well(tmp_path):
    rows = baskets(200)
    plan = PLAN.replace("columns.items", "columns.diagnoses").replace('"items"\nrho', '"diagnoses"\nrho')
    plan = plan.replace('"sensitive.txt"', '["item1", "item4"]').replace(
        "[columns.d", '[columns."*"]\nrole = "other"\n[columns.d'
    )
    with (tmp_path / "patients.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["ward", "diagnoses"])
        writer.writerows([["A", ";".join(row)] for row in rows])
    table = pa.table({"ward": ["A"] * len(rows), "diagnoses": rows})
    pq.write_table(table, tmp_path / "patients.parquet")
    kept = {}
    for path in ("patients.csv", "patients.parquet"):
        text = plan.replace("baskets.txt", path).replace('role = "items"', 'role = "items"\nseparator = ";"')
        (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
        done = sfumato("anonymize", "plan.toml", "--out", path + ".out", "--seed", 1, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        kept[path] = sorted(map(sorted, released(tmp_path / (path + ".out"), "diagnoses", ";")))
    assert kept["patients.csv"] == kept["patients.parquet"]


def test_names_are_any_text_and_numbers_of_any_size(shop):
    (shop / "baskets.txt").write_text(
        "99999999999999999999999 ü\n99999999999999999999999\nü item1\nü\n", encoding="utf-8"
    )
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=shop)

    assert done.returncode == 0, done.stderr
    assert {"99999999999999999999999", "ü"} <= set().union(*released(shop / "out"))


def test_a_line_of_a_hundred_thousand_items_is_just_a_long_record(shop):
    with (shop / "baskets.txt").open("a", encoding="utf-8") as file:
        file.write(" ".join(f"x{number}" for number in range(100_000)) + " item1\n")
    for goal in ("loss", "distribution"):
        options = f'\n[anonymizers.partial-suppression]\ngoal = "{goal}"\nslack = 1.0\n'
        (shop / "plan.toml").write_text(PLAN + options, encoding="utf-8")
        # Millions of rules in one record: measuring them all would tell nothing of the record.
        done = sfumato("anonymize", "plan.toml", "--out", goal, "--no-measure", "--no-attack", cwd=shop)
        assert done.returncode == 0, done.stderr
        longest = max(released(shop / goal), key=len)
        assert len(longest) == 100_000
        assert "item1" not in longest


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (('"0.5"', '"1.5"'), "must be more than 0 and less than 1"),
        (('"0.5"', '"a half"'), "no number that can be used"),
        (('sensitive_items = "sensitive.txt"', ""), "which items of column 'items' are sensitive"),
        (('"sensitive.txt"', "[]"), "names none"),
        (('"sensitive.txt"', '["nothing like it"]'), "none of its"),
        (('"sensitive.txt"', "{ share = 2 }"), "share must be a number above 0, such as 0.4, or 1 for all"),
        (('"sensitive.txt"', '"no such file.txt"'), "cannot be read"),
        (('role = "items"', 'role = "quasi-sensitive"'), "only a column with the role 'items'"),
        (('"0.5"', '"0.5"\nanonymizer = "mondrian"'), "cannot meet it"),
    ],
)
def test_wrong_plans_are_refused(shop, spoil, message):
    (shop / "plan.toml").write_text(PLAN.replace(*spoil), encoding="utf-8")
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=shop)

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (shop / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"item1 item2\nitem3\titem4\n", "both blanks and tabs"),
        (b"item1 item2\nitem\xff3\n", "not UTF-8"),
    ],
)
def test_wrong_files_are_refused(shop, content, message):
    (shop / "baskets.txt").write_bytes(content)
    done = sfumato("anonymize", "plan.toml", "--out", "out", cwd=shop)

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (shop / "out").exists()
