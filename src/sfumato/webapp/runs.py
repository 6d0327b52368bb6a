"""What runs left, as pages show it: read from their own records, nothing is worked out here."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.report import promises, verdict
from sfumato.report.reading import main_measurements, mapping, mappings, number, text
from sfumato.report.wording import amount, moment, plain
from sfumato.webapp.project import RUN_FILE


def facts_of(run: Path) -> Mapping[str, Any]:
    """Return the facts of a run; nothing where they cannot be read."""
    with suppress(OSError, ValueError):
        found = json.loads((run / RUN_FILE).read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def about_run(name: str, path: Path) -> dict[str, Any]:
    """Return what a list of runs shows of one."""
    facts = facts_of(path)
    answer = verdict.content(facts)
    return {
        "name": name,
        "made": moment(facts.get("made")),
        "plan": text(mapping(facts.get("plan")).get("path")),
        "satisfied": answer["satisfied"],
        "stamp": answer["stamp"],
        "exposed": answer["exposed"],
    }


def files_of(run: Path, facts: Mapping[str, Any]) -> list[str]:
    """Return the names of what may be handed over: files of the release that are there, nothing else."""
    named = mapping(mapping(facts.get("release")).get("files"))
    return [name for name in named if (run / "release" / name).is_file() and "/" not in name and "\\" not in name]


def certificate_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be told to whoever gets the release: nothing in it was counted in the original."""
    release = mapping(facts.get("release"))
    shown = [
        {
            "title": card["title"],
            "parameters": card["parameters"],
            "promise": card["promise"],
            "limit": card["limit"],
            "satisfied": card["satisfied"],
        }
        for card in promises.content(facts) or ()
    ]
    return {
        "made": moment(facts.get("made")),
        "promises": shown,
        "satisfied": bool(shown) and all(card["satisfied"] for card in shown),
        "rows": number(release.get("rows")),
        "shuffled": release.get("shuffled") is True,
        "test_only": release.get("test_only") is True,
        "digests": [*mapping(release.get("files")).items(), ("plan.toml", mapping(facts.get("plan")).get("sha256"))],
        "versions": mapping(facts.get("versions")),
    }


# Several runs side by side.


def compared(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what runs have reached and cost, one row a measure, and how their plans differ."""
    rows: dict[str, dict[str, str]] = {}
    for name, facts in runs.items():
        for entry in mappings(facts.get("verdicts")):
            title = f"{text(entry.get('model'))} {', '.join(entry.get('columns') or ())}".strip()
            rows.setdefault(f"{title}: {text(entry.get('measure'))}", {})[name] = plain(entry.get("reached"))
        for entry in main_measurements(facts):
            title = text(entry.get("title")) or text(entry.get("name"))
            rows.setdefault(title, {})[name] = amount(entry.get("value"), text(entry.get("unit")))
        rows.setdefault("rows published", {})[name] = plain(mapping(facts.get("release")).get("rows"))
    exposed = {name: verdict.content(facts)["exposed"] for name, facts in runs.items()}
    return {"names": list(runs), "rows": rows, "exposed": exposed, "changes": _changes(list(runs.items()))}


def _changes(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> list[tuple[str, list[str]]]:
    """Return for each run but the first what its plan has otherwise than the one before."""
    plans = [(name, dict(_leaves(_plan_of(facts)))) for name, facts in runs]
    return [
        (f"{before} → {after}", _differences(old, new)) for (before, old), (after, new) in itertools.pairwise(plans)
    ]


def _plan_of(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(text(mapping(facts.get("plan")).get("text")))
    return {}


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return in words what differs.

    >>> _differences({"k-anonymity: k": 5, "a: role": "other"}, {"k-anonymity: k": 10})
    ['k-anonymity: k 5 → 10', 'a: role other → nothing']
    """
    keys = dict.fromkeys([*old, *new])
    shown = {key: (_short(old.get(key)), _short(new.get(key))) for key in keys if old.get(key) != new.get(key)}
    return [f"{key} {before} → {after}" for key, (before, after) in shown.items()]


def _short(value: Any) -> str:
    return "nothing" if value is None else plain(value)


def _leaves(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what a plan says, each by words for its place."""
    for key, value in table.items():
        if key == "require" and isinstance(value, list):
            for requirement in mappings(value):
                columns = [requirement[name] for name in ("sensitive", "column") if name in requirement]
                title = " of ".join(map(str, [requirement.get("model"), *columns]))
                yield from _leaves({name: each for name, each in requirement.items() if name != "model"}, f"{title}: ")
        elif isinstance(value, Mapping):
            yield from _leaves(value, f"{'' if key == 'columns' else above}{'' if key == 'columns' else f'{key}: '}")
        else:
            yield f"{above}{key}", value
