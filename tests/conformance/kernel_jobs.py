"""Small jobs that reach every compiled loop, run once compiled and once as plain Python by `test_kernels.py`.

As a program, `python kernel_jobs.py FAMILY` does the jobs of a family without a compiler, and prints what they gave and
which loops they went through.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

REACHED: set[str] = set()  # loops that plain Python went through


def do_without_compiler() -> None:
    """Let loops be plain functions that note each call; before any of them is imported."""
    from sfumato import compiling

    def traced(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            REACHED.add(f"{function.__module__}.{function.__qualname__}")
            return function(*arguments, **options)

        return call

    for option in [name for name in vars(compiling) if name.endswith("kernel")]:
        setattr(compiling, option, traced)
    # As in compiled loops: numbers wrap around, and a division by zero gives inf.
    warnings.simplefilter("ignore", RuntimeWarning)


def plain(value: Any) -> Any:
    """Return what json can write; floats rounded, for the last digit may differ."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return value if isinstance(value, str | int | bool | None) else repr(value)


COLUMNS = {
    "name": {"role": "identifier"},
    "diagnosis": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "hierarchy": {"widths": [5, 10, 20, 40]}},
    "sex": {"role": "quasi-identifier", "hierarchy": {"flat": True}},
    "zip": {"role": "quasi-identifier", "kind": "category", "hierarchy": {"prefix": 5}},
    "admission": {"role": "other"},
    "ward": {"role": "other"},
    "therapy": {"role": "other"},
    "payer": {"role": "other"},
    "symptoms": {"role": "other"},
    "drugs": {"role": "other"},
    "job": {"role": "other"},
    "household": {"role": "other"},
}


def made(rows: int, columns: dict[str, Any], require: list[dict[str, Any]], **more: Any) -> Any:
    """Return the run of a plan on made-up patients."""
    import sfumato as sf
    from sfumato.generators import hospital
    from sfumato.generators.hospital import knowledge_rows

    document = {"columns": COLUMNS | columns, "require": require, **more}
    with tempfile.TemporaryDirectory() as folder:
        if "knowledge" in document:
            known = "".join(f"{name},{symptoms}\n" for name, symptoms in knowledge_rows())
            (Path(folder) / "diagnoses.csv").write_text(f"diagnosis,symptoms\n{known}", encoding="utf-8")
        return sf.anonymize(hospital(rows), sf.Plan.from_dict(document, base=Path(folder)), seed=3, threads=1)


def facts(run: Any) -> Any:
    """Return what a run published, and what was said about it."""
    said = {measurement.name: measurement.value for measurement in run.measurements}
    return [run.release.data.to_pydict(), [verdict.satisfied for verdict in run.verdicts], said]


def classes() -> Iterator[tuple[str, Any]]:
    ward = {"ward": {"role": "sensitive"}}
    require = [
        {"model": "k-anonymity", "k": 3},
        {"model": "l-diversity", "sensitive": "ward", "l": 2, "kind": "entropy"},
        {"model": "t-closeness", "sensitive": "ward", "t": 0.7},
    ]
    for name, options in (("local-recoding", {}), ("mondrian", {}), ("mondrian", {"cut": "width", "strict": False})):
        chosen = [requirement | {"anonymizer": name} for requirement in require]
        yield f"{name} {options}", facts(made(60, ward, chosen, anonymizers={name: options}))
    levels = [requirement | {"anonymizer": "full-domain"} for requirement in require]
    yield "full-domain", facts(made(60, ward, levels, anonymizers={"full-domain": {"drop_rows": 0.1}}))
    yield from of_levels(ward)
    payer = {"payer": {"role": "sensitive"}}
    beside = {"model": "l-diversity", "sensitive": "ward", "l": 2, "known": ["payer"], "anonymizer": "mondrian"}
    yield "who knows another column", facts(made(60, ward | payer, [beside]))
    limited = [
        {"model": "beta-likeness", "sensitive": "ward", "beta": 1},
        {"model": "delta-disclosure", "sensitive": "ward", "delta": 1.2},
    ]
    for each in limited:
        yield each["model"], facts(made(60, ward, [each]))
    near = [{"model": "t-closeness", "sensitive": "ward", "t": 0.15}]
    yield "rows that fit nowhere", facts(made(20, ward, near, anonymizers={"local-recoding": {"mode": "fast"}}))


def of_levels(ward: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    from sfumato.anonymizers.full_domain import lattice

    asked = [
        {"model": "l-diversity", "l": 2, "kind": "recursive", "c": 1},
        {"model": "l-diversity", "l": 2},
        {"model": "delta-disclosure", "delta": 1.2},
    ]
    bits, lattice.FIRST_BITS = lattice.FIRST_BITS, 10  # keys of several words
    try:
        for each in asked:
            for loss in ("discernibility", "class-size"):
                chosen = each | {"sensitive": "ward", "anonymizer": "full-domain"}
                options = {"full-domain": {"drop_rows": 0.1, "loss": loss}}
                yield f"{each} {loss}", facts(made(60, ward, [chosen], anonymizers=options))
    finally:
        lattice.FIRST_BITS = bits


def masks() -> Iterator[tuple[str, Any]]:
    from sfumato.anonymizers.masking import regions as masking_regions
    from sfumato.generators.hospital import PAYERS, THERAPIES

    columns = {
        "therapy": {"role": "sensitive", "hierarchy": {name: list(values) for name, values in THERAPIES.items()}},
        "payer": {"role": "sensitive", "hierarchy": {name: list(values) for name, values in PAYERS.items()}},
    }
    asked = {"model": "multi-diversity", "sensitive": ["therapy", "payer"]}
    alike, apart = asked | {"alpha_qi": 0.6, "alpha_sa": 0.6}, asked | {"alpha_qi": 0.35, "alpha_sa": 0.9}
    for options in ({}, {"search": "fast", "avoid_vacuous": True}, {"search": "paper"}):
        yield f"masking {options}", facts(made(60, columns, [alike], anonymizers={"masking": options}))
    yield "masking of whole classes", facts(made(60, columns, [apart]))
    allowed, masking_regions.MOST_REGIONS = masking_regions.MOST_REGIONS, 1
    try:
        yield "masking from the top", facts(made(60, columns, [alike]))
    finally:
        masking_regions.MOST_REGIONS = allowed


def terms() -> Iterator[tuple[str, Any]]:
    columns = {"symptoms": {"role": "quasi-sensitive", "kind": "set"}}
    knowledge = {"path": "diagnoses.csv", "label": "diagnosis", "terms": "symptoms", "separator": "|"}
    closeness = {"model": "qs-closeness", "column": "symptoms", "t": 0.5}
    diversity = {"model": "qs-diversity", "column": "symptoms", "c": 2, "l": 3}
    k = {"model": "k-anonymity", "k": 4}
    for requirement in (closeness, diversity):
        for options in ({}, {"search": "adaptive"}, {"joint": True}):
            anonymizers = {"term-suppression": options}
            run = made(60, columns, [k, requirement], knowledge=knowledge, anonymizers=anonymizers)
            yield f"{requirement['model']} {options}", facts(run)
    yield from searched_groups()


def searched_groups() -> Iterator[tuple[str, Any]]:
    """Groups that are larger, and records that are longer, than those of patients."""
    import numpy as np

    from sfumato.anonymizers.base import Deadline, Workplace
    from sfumato.anonymizers.term_suppression import search as searching
    from sfumato.anonymizers.term_suppression.hierarchical import make_tower, solve_tower
    from sfumato.anonymizers.term_suppression.records import code_records, estimate_prior

    rng = np.random.default_rng(4)
    for name, size, width, required in (
        ("long records", 3, 16, {"t": 0.25}),
        ("many records", 40, 7, {"t": 0.16}),
        ("many sizes", 12, 6, {"c": Fraction(1, 4), "l": 8}),
        ("a crowd", 100, 3, {"c": Fraction(1, 3), "l": 7}),
    ):
        rows = [sorted(rng.permutation(2 * width)[: width + 1].tolist()) for _ in range(12)]
        records = [sorted(rng.permutation(rows[label])[:width].tolist()) for label in rng.integers(0, 6, size)]
        known = [np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32), np.arange(12, dtype=np.int32)]
        held = [np.cumsum([0, *map(len, records)]), np.concatenate(records).astype(np.int32)]
        coded = code_records(*held, *known, 2 * width, 12)
        prior = np.full(12, 1 / 12)
        order, start = np.arange(size), np.array([0, size])
        requirement = searching.make_requirement(prior, "linked", **required)
        found = searching.solve_all(coded, order, start, prior, requirement, nodes=400)
        yield name, [estimate_prior(coded), *found, searching.kept_items(coded, found)]
        if size > 12 or width > 7:
            continue
        often = [Fraction(int(part), 4) for part in rng.integers(1, 5, known[1].size)]
        worth = [Fraction(int(part), 2) for part in rng.integers(1, 5, 2 * width)]
        levels = np.array([np.arange(12), np.arange(12) // 3], dtype=np.int32)
        place = {"nodes": 400, "deadline": Deadline(), "workplace": Workplace(), "advance": lambda groups: None}
        found = solve_tower(coded, order, start, "linked", 0.2, make_tower(levels, prior), **place)
        yield f"{name} over a hierarchy", [*found, searching.kept_items(coded, found)]
        for more in (
            {"likelihood": often},
            {"misses": 1},
            {"likelihood": often, "misses": 1},
            {"worth": worth},
        ):
            coded = code_records(held[0], rng.permutation(held[1]), *known, 2 * width, 12, **more)
            for also in (required, {"t": 0.3}):
                requirement = searching.make_requirement(prior, "linked", **also)
                found = searching.solve_all(coded, order, start, prior, requirement, nodes=400)
                yield f"{name} {list(more)} {list(also)}", [*found, searching.kept_items(coded, found)]


def items() -> Iterator[tuple[str, Any]]:
    from sfumato.generators.hospital import SENSITIVE_DRUGS

    columns = {"drugs": {"role": "items", "kind": "set", "sensitive_items": list(SENSITIVE_DRUGS)}}
    for name, options in (
        ("partial-suppression", {}),
        ("partial-suppression", {"goal": "distribution", "parts": 2}),
        ("partial-suppression", {"search": "mine"}),
        ("partial-suppression", {"search": "dist", "restore": True, "buffer_size": 10}),
        ("global-suppression", {}),
    ):
        requirement = {"model": "rho-uncertainty", "column": "drugs", "rho": "0.5", "anonymizer": name}
        for empty in (False, True) if options.get("search") == "mine" else (False,):
            run = made(60, columns, [requirement | {"empty_antecedent": empty}], anonymizers={name: options})
            yield f"{name} {options} {empty}", facts(run)
    general = {"drugs": columns["drugs"] | {"hierarchy": {"prefix": 2}}}
    known = {"model": "km-anonymity", "column": "drugs", "k": 3, "m": 3, "within": "table"}
    yield "crowds", facts(made(60, general, [known]))
    coherent = {"model": "hkp-coherence", "column": "drugs", "h": "0.5", "k": 3, "p": 2, "within": "table"}
    yield "crowds with secrets", facts(made(60, general, [coherent]))
    yield "a store that grows", grown_store()


def grown_store() -> Any:
    """A store with more sets than its first room."""
    import numpy as np

    from sfumato.kernels.items.supports import add, item_codes, make_store, with_room

    store = make_store(1)
    for change, key in enumerate(item_codes(400)):
        add(key, np.int32(change), store)
    store = with_room(store, 4000)
    return [store.keys, store.counts, store.used]


def cells() -> Iterator[tuple[str, Any]]:
    import sfumato as sf
    from sfumato.generators.patients import JOBS

    role = "sensitive-quasi-identifier"
    jobs = [job for group in JOBS.values() for job in group]
    columns = {
        "age": {"role": role, "kind": "category", "domain": [str(age) for age in range(110)]},
        "job": {"role": role, "domain": jobs, "hierarchy": {name: list(group) for name, group in JOBS.items()}},
        "household": {"role": role, "domain": ["1", "2", "3", "4", "5 or more"]},
    }
    require = [
        {"model": "sensitive-qid-diversity", "l": {"age": 3, "household": 2}},
        {"model": "sensitive-qid-closeness", "t": {"job": 0.5}, "distance": "hierarchical"},
    ]
    run = made(60, columns, require)
    yield "randomization", facts(run)
    for method in ("inverse", "mle"):
        yield f"reconstruct {method}", sf.reconstruct(run.release, ["job", "household"], method=method).counts
    yield "reconstruct a large table", sf.reconstruct(run.release, ["age", "job"], method="inverse").counts


FAMILIES: dict[str, tuple[Callable[[], Iterator[tuple[str, Any]]], tuple[str, ...]]] = {
    "classes": (classes, ("kernels.classes",)),
    "masks": (masks, ("kernels.masks", "kernels.published.masking")),
    "terms": (terms, ("kernels.terms", "kernels.published.terms")),
    "items": (
        items,
        ("kernels.items", "kernels.published.rho_global", "kernels.published.rho_repair", "models.judging"),
    ),
    "cells": (cells, ("kernels.cells",)),
}


def family_of(module: str) -> str | None:
    """Return the family whose jobs go through the loops of a module."""
    found = [
        family
        for family, (_, places) in FAMILIES.items()
        if f"{module}.".startswith(tuple(f"sfumato.{place}." for place in places))
    ]
    return found[0] if found else None


def results_of(family: str) -> dict[str, Any]:
    """Do the jobs of a family; return what each gave, as json would read it back."""
    found = {name: plain(result) for name, result in FAMILIES[family][0]()}
    return json.loads(json.dumps(found))


if __name__ == "__main__":
    do_without_compiler()
    results = results_of(sys.argv[1])
    json.dump({"results": results, "reached": sorted(REACHED)}, sys.stdout)
