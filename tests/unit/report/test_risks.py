"""Who could still be found."""

from __future__ import annotations

from sfumato.report import risks
from sfumato.report.page import render
from sfumato.report.wording import UNKNOWN


def test_what_terms_give_away_is_drawn_among_the_risks(facts):
    side = {"change": {"mean": 0.5, "max": 0.75}, "largest_belief": {"mean": 0.6, "max": 1.0}}
    facts["measurements"].append(
        {
            "name": "belief-change",
            "title": "Change of belief",
            "value": 0.25,
            "unit": "share",
            "explanation": "By 25 % on average.",
            "facts": {"column": "symptoms", "before": side, "after": side | {"change": {"mean": 0.25, "max": None}}},
        }
    )

    html = render(facts)

    shown = html.split('<section id="risks"')[1].split("</section>")[0]
    assert "What symptoms gives away" in shown
    assert "By 25% on average." in shown
    assert "50% → 25%" in shown


def test_what_is_about_risk_is_said_main_things_first():
    def measured(name, main):
        return {"name": name, "about": "risk", "main": main, "explanation": f"It says {name}."}

    facts = {"measurements": [measured("small", False), measured("large", True), {"name": "x", "about": "loss"}]}

    assert risks.content(facts) == {"sentences": ["It says large.", "It says small."], "pictures": []}


def test_a_journalist_is_shown_where_the_population_is_known(facts):
    [risk] = [entry for entry in facts["measurements"] if entry["name"] == "risk"]
    risk["facts"]["journalist"] = {"population": 10_000, "max": 0.125}

    [picture] = [picture for picture in risks.content(facts)["pictures"] if picture.title == "Finding a person again"]

    assert picture.table.rows[-1] == ["Highest, in the population", UNKNOWN, "12.5%"]


def test_nothing_measured_is_no_part():
    assert risks.content({}) is None


def test_risks_in_the_population_are_drawn_with_households(facts):
    side = {"mean": 0.25, "max": 0.5, "sample_unique": 0.4, "population_unique": 0.125, "unique_match": 0.3}
    facts["measurements"].append(
        {
            "name": "population-risk",
            "about": "risk",
            "title": "Risk in the population",
            "value": 0.1,
            "unit": "share",
            "explanation": "It is small.",
            "facts": {
                "population": 9_000,
                "before": {**side, "households": {"mean": 0.75}},
                "after": {**side, "mean": 0.1, "households": {"mean": 0.2}},
            },
        }
    )

    shown = render(facts).split('<section id="risks"')[1].split("</section>")[0]

    assert "Finding a person of the population" in shown
    assert "25% → 10%" in shown
    assert "75% → 20%" in shown
    assert "9,000 people" in shown


def test_columns_that_single_people_out_are_drawn_worst_first():
    side = {"columns": {"age": 0.25, "town": 0.75}, "by_size": [0, 12]}
    nobody = {"columns": {"age": 0.0, "town": 0.0}, "by_size": [0, 0]}
    measured = {"name": "special-uniques", "about": "risk", "facts": {"before": side, "after": nobody}}

    (picture,) = risks.content({"measurements": [measured]})["pictures"]

    assert picture.alt.index("town") < picture.alt.index("age")
    assert picture.table.rows == [["1", "0", "0"], ["2", "12", "0"]]
    assert risks.content({"measurements": [{**measured, "facts": {"before": nobody, "after": nobody}}]}) is None
