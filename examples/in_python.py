"""sfumato in Python, every model: python examples/in_python.py [--rows N].

What a program that uses sfumato names, with types: the tests check this script with `mypy --strict` and run it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

import sfumato as sf

HOSPITAL = Path(__file__).parent / "hospital"
COLUMNS: dict[str, dict[str, object]] = {
    "name": {"role": "identifier"},
    "diagnosis": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 10, 20, 40]}},
    "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    "zip": {"role": "quasi-identifier", "kind": "category", "hierarchy": {"prefix": 5}},
    "admission": {"role": "other"},
    "ward": {"role": "sensitive"},
    "therapy": {"role": "sensitive", "hierarchy": "therapies.csv"},
    "payer": {"role": "sensitive", "hierarchy": "payers.csv"},
    "symptoms": {"role": "quasi-sensitive", "kind": "set", "separator": "|"},
    "drugs": {"role": "items", "kind": "set", "separator": "|", "sensitive_items": "sensitive_drugs.txt"},
    "job": {"role": "sensitive-quasi-identifier", "domain": "jobs.txt"},
    "household": {"role": "sensitive-quasi-identifier", "domain": ["1", "2", "3", "4", "5 or more"]},
}
REQUIREMENTS: list[sf.PrivacyModel] = [
    sf.KAnonymity(k=3),
    sf.LDiversity(sensitive="ward", l=2),
    sf.TCloseness(sensitive="ward", t=0.8),
    sf.AlphaDiversity(sensitive="payer", alpha=0.8),
    sf.MultiDiversity(sensitive=("therapy", "payer"), alpha_qi=0.8, alpha_sa=0.8),
    sf.QSDiversity(column="symptoms", c=3, l=2),
    sf.QSCloseness(column="symptoms", t=0.7),
    sf.RhoUncertainty(column="drugs", rho="0.6"),
    sf.SensitiveQidDiversity(l={"job": 2}),
    sf.SensitiveQidCloseness(t={"household": 0.5}),
    sf.LocalDifferentialPrivacy(epsilon={"household": 2}),
]

AMONG_OTHERS: list[sf.PrivacyModel] = [
    sf.BetaLikeness(sensitive="payer", beta=3),
    sf.DeltaDisclosure(sensitive="payer", delta=3),
    sf.KMap(k=3, population="stays.csv"),
    sf.DeltaPresence(low=0, high=0.9, population="stays.csv"),
]

OF_BASKETS: list[sf.PrivacyModel] = [
    sf.KmAnonymity(column="drugs", k=3, m=2),
    sf.HkpCoherence(column="drugs", h=0.6, k=3, p=2),
]


def plan_of(requirements: Sequence[sf.PrivacyModel]) -> sf.Plan:
    """Return a plan for the hospital's stays."""
    knowledge = {"path": "diagnoses.csv", "label": "diagnosis", "terms": "symptoms", "separator": "|"}
    document = {"columns": COLUMNS, "knowledge": knowledge, "require": list(requirements)}
    return sf.Plan.from_dict(document, base=HOSPITAL)


def plan_among_others() -> sf.Plan:
    """Return a plan with one level of detail for everybody, judged among all people there are."""
    shown = ("age", "sex", "zip", "payer")
    columns = {name: about if name in shown else {"role": "identifier"} for name, about in COLUMNS.items()}
    return sf.Plan.from_dict({"columns": columns, "require": AMONG_OTHERS}, base=HOSPITAL)


def plan_of_baskets(requirement: sf.PrivacyModel) -> sf.Plan:
    """Return a plan for nothing but the drugs."""
    columns = {name: about if name == "drugs" else {"role": "identifier"} for name, about in COLUMNS.items()}
    return sf.Plan.from_dict({"columns": columns, "require": [requirement]}, base=HOSPITAL)


def stays(rows: int) -> pa.Table:
    """Return the first rows of the made-up stays; pandas and polars frames do as well."""
    return pyarrow.csv.read_csv(HOSPITAL / "stays.csv").slice(0, rows)


def held(verdicts: Sequence[sf.Verdict]) -> dict[str, bool]:
    """Return which requirements hold, by the name of their model."""
    return {verdict.model.name: verdict.satisfied for verdict in verdicts}


def worst(exposures: Sequence[sf.Exposure]) -> dict[str, float]:
    """Return how sure the luckiest intruder can be, by the name of the attack."""
    return {exposure.attack: exposure.after.worst for exposure in exposures}


def main(rows: int) -> None:
    """Anonymize, judge, measure, attack, reconstruct; then ask for too much and for nonsense."""
    people, plan = stays(rows), plan_of(REQUIREMENTS)
    run: sf.Run = sf.anonymize(people, plan, seed=1)  # a seed only to repeat what is shown here
    release: sf.Published = run.release
    others = (plan_among_others(), *map(plan_of_baskets, OF_BASKETS))
    verdicts = [
        *run.verdicts,
        *(verdict for other in others for verdict in sf.anonymize(people, other, seed=1).verdicts),
    ]
    print(f"{release.data.num_rows} rows;", ", ".join(f"{name} holds" for name, yes in held(verdicts).items() if yes))

    measurements: tuple[sf.Measurement, ...] = sf.measure(release, plan, original=people)
    lost = next(measurement for measurement in measurements if measurement.name == "ncp")
    print(f"{lost.title}: {lost.value:.0%}")
    for attack, certainty in worst(sf.attack(release, plan, original=people)).items():
        print(f"{attack}: {certainty:.0%}")

    expected: sf.Expectation = sf.expect(release, ["job"])
    jobs: sf.CrossTable = sf.reconstruct(release, ["job"])
    print(f"{len(jobs.counts)} jobs, {expected.outlook}")

    try:
        sf.anonymize(people, plan_of([sf.KAnonymity(k=rows + 1), *REQUIREMENTS[1:]]))
    except sf.Unsatisfiable as error:
        print("cannot be met:", str(error).splitlines()[0])
    try:
        sf.KAnonymity(k=0)
    except sf.PolicyError as error:
        print("no such model:", str(error).splitlines()[0])
    try:
        sf.Plan.from_dict({"columns": {"age": {"rule": "quasi-identifier"}}})
    except sf.PlanError as error:
        problems: Sequence[sf.Problem] = error.problems
        print(f"{len(problems)} problems:", "; ".join(f"{each.place or 'the plan'}: {each.text}" for each in problems))
    except sf.SfumatoError as error:  # the root of all
        print("something else:", error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400)
    main(parser.parse_args().rows)
