"""The certificate of a release: what may be told to whoever gets it, from the facts of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.report import promises
from sfumato.report.page import environment, harmless
from sfumato.report.reading import mapping, number
from sfumato.report.wording import count, moment


def certificate(facts: Mapping[str, Any]) -> str:
    """Return the page that may go with a release."""
    return harmless(environment().get_template("certificate.html").render(certificate_of(facts)))


def certificate_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be told to whoever gets the release: nothing in it was counted in the original."""
    release = mapping(facts.get("release"))
    rows = number(release.get("rows"))
    told = ("title", "parameters", "promise", "limit", "satisfied", "stamp")
    shown = [{key: card[key] for key in told} for card in promises.content(facts)]
    return {
        "made": moment(facts.get("made")),
        "promises": shown,
        "satisfied": bool(shown) and all(card["satisfied"] for card in shown),
        "rows": None if rows is None else count(rows),
        "shuffled": release.get("shuffled") is True,
        "test_only": release.get("test_only") is True,
        "digests": [*mapping(release.get("files")).items(), ("plan.toml", mapping(facts.get("plan")).get("sha256"))],
        "versions": mapping(facts.get("versions")),
    }
