"""Who can still be learned about although every requirement holds: in numbers, and why that is."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.report.masks import seen_through
from sfumato.report.promises import bound
from sfumato.report.reading import Facts, attacks, mapping, mappings, number, sequence, text
from sfumato.report.wording import apart, count, figure, listed, plural, share

WITHIN = "within the promise"
BEYOND = "no requirement of the plan speaks of this intruder"


def headline(facts: Facts) -> str:
    """Return a sentence about the people whom an intruder can still learn about; nothing where nobody looked.

    >>> finding = {"people": 9, "exposed": 2, "worst": 0.6}
    >>> held = {"model": "k-anonymity", "satisfied": True}
    >>> attack = {"title": "Look", "threshold": 0.5, "answered_by": ["k-anonymity"], "after": finding}
    >>> headline({"verdicts": [held], "attacks": [attack]})
    'Within the promise, an intruder can still be surer than 50% about 2 of 9 people.'
    """
    tried = attacks(facts)
    found = _exposing(facts)
    if "attack" in sequence(facts.get("pending")):
        return "What an intruder can still learn was left for later."
    if not found:
        thresholds = [threshold for entry in tried if (threshold := number(entry.get("threshold"))) is not None]
        sure = share(min(thresholds, default=None))
        nobody = f"No attack that was tried makes an intruder surer than {sure} of anything about anybody."
        return nobody if thresholds else ""
    within, beyond = (
        next((entry for entry in found if bool(_answering(facts, entry)) is answered), None)
        for answered in (True, False)
    )
    if within is None:
        return f"An intruder can still {_learns(found[0])}: {BEYOND}."
    other = f"; one of whom no requirement speaks, {_about(beyond)}" if beyond is not None else ""
    return f"Within the promise, an intruder can still {_learns(within)}{other}."


def _learns(entry: Facts) -> str:
    """Return what an attacker learns of how many people: confidence, or a rare value that is many times as likely."""
    after = mapping(entry.get("after"))
    facts = mapping(after.get("facts"))
    exposed, by_gain = number(after.get("exposed")) or 0.0, number(facts.get("by_gain")) or 0.0
    if not by_gain:
        return f"be surer than {share(entry.get('threshold'))} {_about(entry)}"
    gain = f"that a rare value is over {figure(facts.get('factor'))} times as likely as in the table"
    if by_gain < exposed:
        gain = f"a value with a confidence above {share(entry.get('threshold'))}, or {gain}"
    return f"learn {_about(entry)} {gain}"


def largest_gain(after: Facts, value: str = "") -> str:
    """Return how common the rare value that gains most is in the table and in one class; nothing where none gains much.

    >>> largest_gain({"facts": {"largest_gain": {"in_table": 0.005, "in_class": 0.44, "times": 88.0}}})
    'one value: 0.50% in the table, 44% in one class, 88 times as likely'
    """
    gain = mapping(mapping(after.get("facts")).get("largest_gain"))
    if not gain:
        return ""
    shares = f"{share(gain.get('in_table'))} in the table, {share(gain.get('in_class'))} in one class"
    return f"{value or 'one value'}: {shares}, {count(round(number(gain.get('times')) or 0))} times as likely"


def _about(entry: Facts) -> str:
    after = mapping(entry.get("after"))
    return f"about {count(after.get('exposed'))} of {plural(after.get('people'), 'person', 'people')}"


def lines(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """Yield for each attack that succeeds how many people it exposes, what it is, and why that may be."""
    for entry in _exposing(facts):
        after, control = mapping(entry.get("after")), mapping(entry.get("control"))
        how = f"{text(entry.get('title'))}: sure up to {share(after.get('worst'))}"
        if control:
            as_well = f", for {count(control.get('exposed'))}" if number(control.get("exposed")) else ""
            how += f" (a guess: {share(control.get('worst'))}{as_well})"
        gain = largest_gain(after)
        how += f"; {gain}" if gain else ""
        answering = [_bounded(each) for each in _answering(facts, entry)]
        reason = f"{WITHIN} of {listed(answering)}" if answering else BEYOND
        yield f"{count(after.get('exposed'))} of {count(after.get('people'))}", how, reason
    vacuous, masked = seen_through(facts)
    if vacuous:
        hides = f"masks hide a single true value ({share(vacuous / masked)}): who knows that sees through them"
        yield f"{count(vacuous)} of {count(masked)}", hides, f"{WITHIN}, which speaks of what labels say"


def _exposing(facts: Facts) -> list[Facts]:
    """Return the attacks that expose somebody, most people first."""
    found = [entry for entry in attacks(facts) if number(mapping(entry.get("after")).get("exposed"))]
    return sorted(found, key=lambda entry: -(number(mapping(entry.get("after")).get("exposed")) or 0.0))


def _answering(facts: Facts, entry: Facts) -> list[Facts]:
    """Return the verdicts that hold and whose promise speaks of the attack's intruder."""
    names, about = sequence(entry.get("answered_by")), set(sequence(entry.get("about")))
    when = mapping(entry.get("answered_when"))
    return [
        each
        for each in mappings(facts.get("verdicts"))
        if each.get("model") in names and each.get("satisfied") is True and about <= set(sequence(each.get("columns")))
        if all(each.get(parameter) == value for parameter, value in when.items())
    ]


def _bounded(verdict: Facts) -> str:
    if number(verdict.get("required")) is None:
        return text(verdict.get("model"))
    _, required = apart(verdict.get("reached"), verdict.get("required"))
    measure = text(verdict.get("measure")) or "reached"
    return f"{text(verdict.get('model'))} ({measure} {bound(verdict)} {required})"
