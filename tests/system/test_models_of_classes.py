"""Wrong input of the models and searches that users of other tools bring along: words, exit code 2 or 1, no folder."""

from __future__ import annotations

import pytest

import commands

PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
hierarchy = { widths = [5, 10, 20, 40] }
[columns.city]
role = "quasi-identifier"
hierarchy = { flat = true }
[columns.ill]
role = "sensitive"
[columns.basket]
role = "identifier"
"""
ITEMS = (
    PLAN.replace('"identifier"', '"items"')
    + """kind = "set"
separator = "|"
hierarchy = "items.csv"
"""
)
NEGATIVE = PLAN.replace("[columns.city]", "weight = -1\n[columns.city]")
NOTHING = PLAN.replace("[columns.city]", "weight = 0\n[columns.city]")
NOTHING = NOTHING.replace("[columns.ill]", "weight = 0\n[columns.ill]")
PEOPLE = [
    (20 + i % 30, ("Rome", "Oslo", "Bern")[i % 3], i % 4, ("milk|bread", "tea", "milk")[i % 3]) for i in range(60)
]


def require(**given):
    return "[[require]]\n" + "".join(f"{key} = {value!r}\n" for key, value in given.items())


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{age},{city},{ill},{basket}\n" for age, city, ill, basket in PEOPLE)
    (tmp_path / "people.csv").write_text("age,city,ill,basket\n" + rows, encoding="utf-8")
    both = "".join(f"{age},{city}\n" for age, city, _, _ in PEOPLE * 2)
    (tmp_path / "everybody.csv").write_text("age,city\n" + both, encoding="utf-8")
    (tmp_path / "others.csv").write_text(
        "age,city\n" + "".join(f"{age},Paris\n" for age, _, _, _ in PEOPLE), encoding="utf-8"
    )
    (tmp_path / "items.csv").write_text("milk;food;*\nbread;food;*\n", encoding="utf-8")
    return tmp_path


def made(folder, text):
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    done = commands.sfumato("anonymize", "plan.toml", "--out", "out", cwd=folder, COLUMNS="160")
    assert not (folder / "out").exists()
    return done.returncode, " ".join((done.stdout + done.stderr).split())


K_MAP = {"model": "k-map", "k": 3}
PRESENCE = {"model": "delta-presence", "population": "everybody.csv"}
DELTA = {"model": "delta-disclosure", "sensitive": "ill"}


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (PLAN + require(**K_MAP, population="others.csv"), 2, "must contain the table"),
        (PLAN + require(**K_MAP, population="nowhere.csv"), 2, "nowhere.csv"),
        (PLAN + require(**K_MAP | {"k": 500}, population="everybody.csv"), 1, "has 120 people"),
        *(
            (
                PLAN
                + f"[anonymizers.{name}]\ndrop_rows = 0.1\n"
                + require(**K_MAP, population="everybody.csv", anonymizer=name),
                2,
                "drops nobody where people of a population are counted",
            )
            for name in ("local-recoding", "mondrian")
        ),
        (
            PLAN + '[release]\nshows = "mean"\n' + require(**K_MAP, population="everybody.csv", anonymizer="mondrian"),
            2,
            "shows",
        ),
        (PLAN + require(**PRESENCE, high=1.5), 2, "high"),
        (PLAN + require(**PRESENCE, high=0.5, low=0.6), 2, "no share is between them"),
        (PLAN + require(**PRESENCE, high=0.25), 1, "does not even hold"),
        (PLAN + require(**DELTA, delta=0), 2, "delta"),
        (PLAN + require(**DELTA, delta=-1), 2, "delta"),
        (PLAN + require(model="beta-likeness", sensitive="ill", beta=0), 2, "beta"),
        (NEGATIVE + require(model="k-anonymity", k=3), 2, "weight"),
        (NOTHING + require(model="k-anonymity", k=3), 2, "has weight = 0"),
        (
            ITEMS + require(model="km-anonymity", column="basket", k=5, m=2, anonymizer="item-generalization"),
            2,
            "its hierarchy lacks 1 of 3",
        ),
        (
            PLAN + "[anonymizers.local-recoding]\ndrop_rows = 1.0\n" + require(model="k-anonymity", k=3),
            2,
            "drop_rows",
        ),
        (
            PLAN + require(model="l-diversity", sensitive="ill", l=2, known=["age"]),
            2,
            "age",
        ),
    ],
)  # fmt: skip
def test_it_is_refused_in_words(folder, text, code, words):
    found, said = made(folder, text)

    assert (found, words in said) == (code, True), said


def test_a_lattice_that_is_too_large_is_told_by_its_size_before_any_work(folder):
    names = [f"c{number}" for number in range(16)]
    rows = "".join(",".join(str(10 + (row + at) % 7) for at in range(16)) + "\n" for row in range(20))
    (folder / "wide.csv").write_text(",".join(names) + "\n" + rows, encoding="utf-8")
    columns = "".join(
        f'[columns.{name}]\nrole = "quasi-identifier"\nhierarchy = {{ widths = [2, 4] }}\n' for name in names
    )
    asked = require(model="k-anonymity", k=2, anonymizer="full-domain")

    code, said = made(folder, f'[source]\npath = "wide.csv"\n{columns}{asked}')

    assert code == 2, said
    assert f"{4**16:,}" in said or f"{3**16:,}" in said, said
