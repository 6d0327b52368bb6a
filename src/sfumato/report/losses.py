"""What was lost: every measurement of a loss, and pictures of those that have parts."""

from __future__ import annotations

from typing import Any

from sfumato.report.plots import AFTER, BEFORE_AND_AFTER, Picture, Table, bar_chart
from sfumato.report.reading import (
    Facts,
    columns_of,
    counted,
    mapping,
    mappings,
    measurement,
    measurements,
    number,
    sequence,
    text,
)
from sfumato.report.wording import NAME_LENGTH, UNKNOWN, amount, count, figure, plural, said, share, shortened

TITLE = "What was lost"
MOST_DRAWN = 12  # statistics


def content(facts: Facts) -> dict[str, Any] | None:
    """Return what was lost: all measures as a table, and pictures of those that have parts."""
    made = measurements(facts, "loss")
    drawn = (_loss_by_column(facts), _statistics(facts), _queries(facts), _predictions(facts))
    shown = [picture for picture in drawn if picture]
    if not made and not shown:
        return None
    return {"measures": [_measure(entry) for entry in made], "pictures": shown}


def _measure(entry: Facts) -> dict[str, str]:
    unit = text(entry.get("unit"))
    inside = mapping(entry.get("facts"))
    measured = not ("after" in inside and inside["after"] is None)  # there was nothing to measure
    return {
        "title": text(entry.get("title")) or text(entry.get("name")),
        "before": amount(entry.get("before"), unit),
        "value": amount(entry.get("value"), unit) if measured else UNKNOWN,
        "worst": amount(entry.get("worst"), unit) if measured else UNKNOWN,
        "explanation": said(entry),
    }


def _loss_by_column(facts: Facts) -> Picture | None:
    found = [*columns_of(facts, "ncp"), *columns_of(facts, "masked-detail")]
    if not found:
        return None
    divergence = {text(entry.get("name")): entry.get("divergence") for entry in columns_of(facts, "kl-divergence")}
    ordered = sorted(found, key=lambda entry: -(number(entry.get("loss")) or 0.0))
    named = [(text(entry.get("name")), [number(entry.get("loss"))]) for entry in ordered]
    most = "; ".join(f"{shortened(name, 40)} {share(loss)}" for name, (loss,) in named[:4])
    return Picture(
        title="Detail lost, by column",
        plot=bar_chart(named, [(AFTER, "lost")]),
        alt=f"Detail lost by column, most first: {most}.",
        note="How much of its domain a published value leaves open, on average: the width of a range of numbers, or "
        "the values that a label stands for, whether or not they occur.",
        table=Table(
            head=["Column", "Detail lost", f"of {counted(facts)} kept", "Divergence (nats)"],
            rows=[
                [
                    text(entry.get("name")),
                    share(entry.get("loss")),
                    share(entry.get("loss_of_kept")),
                    figure(divergence.get(text(entry.get("name")))),
                ]
                for entry in ordered
            ],
        ),
    )


def _statistics(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "statistics").get("facts"))
    found = mappings(inside.get("statistics"))
    if not found:
        return None
    ordered = sorted(found, key=lambda entry: -(number(entry.get("moved")) or 0.0))[:MOST_DRAWN]
    named = [(text(entry.get("what")), [number(entry.get("moved"))]) for entry in ordered]
    weighted = f" Rows count by {text(inside.get('weight'))}." if inside.get("weight") else ""
    words = "; ".join(f"{name} {figure(moved)}" for name, (moved,) in named[:4])
    shown = {"before": "Before", "after": "After", "lower": "surely from", "upper": "to"}
    if any(entry.get("std_error") is not None for entry in found):  # slopes have one
        shown["std_error"] = "Standard error"
    return Picture(
        title="What an analyst would compute",
        plot=bar_chart(named, [(AFTER, "moved, in standard deviations")], show=figure),
        alt=f"Means, correlations and slopes that moved most: {words}.",
        note="From the release as sf.load estimates it: a mean moves in standard deviations of its column, a slope as "
        f"if both columns had standard deviation 1.{weighted}",
        table=Table(
            head=["Statistic", *shown.values()],
            rows=[[text(entry.get("what")), *(figure(entry.get(key)) for key in shown)] for entry in found],
        ),
    )


def _queries(facts: Facts) -> Picture | None:
    made = measurement(facts, "query-error")
    inside = mapping(made.get("facts"))
    found = mappings(inside.get("dimensions"))
    if not found:
        return None
    terms = " and terms" if inside.get("terms") else ""
    over = [f"{plural(entry.get('columns'), 'column')}{terms}" for entry in found]
    errors = [[number(entry.get("median")), number(entry.get("worst_tenth"))] for entry in found]
    named = list(zip(over, errors, strict=True))
    series = [(AFTER, "half of the counts"), ("is-after-soft", "nine in ten")]
    words = "; ".join(f"{name} {share(half)} and {share(most)}" for name, (half, most) in named)
    return Picture(
        title="Error of random counts",
        plot=bar_chart(named, series, between=" · "),
        alt=f"Relative error that half of random counts, and nine in ten, stay within: {words}.",
        note="How far a count over some columns is off, relative to the true count, at most. With * in every "
        f"quasi-identifier the mean would be {share(made.get('worst'))} instead of {share(made.get('value'))}.",
        legend=series,
        table=Table(
            head=["Counts over", "Mean", "with no detail left", "Median", "Nine in ten", "Queries"],
            rows=[
                [
                    name,
                    *(share(entry.get(key)) for key in ("mean", "without_detail", "median", "worst_tenth")),
                    count(entry.get("queries")),
                ]
                for name, entry in zip(over, found, strict=True)
            ],
        ),
    )


def _predictions(facts: Facts) -> Picture | None:
    inside = mapping(measurement(facts, "classification").get("facts"))
    before, after = mapping(inside.get("before")), mapping(inside.get("after"))
    if not before and not after:
        return None
    target = shortened(text(inside.get("target")), NAME_LENGTH)
    classes = plural(len(sequence(inside.get("classes"))), "class", "classes")
    words = {"accuracy": "Right answers", "balanced_accuracy": "Mean over classes", "baseline": "Most frequent class"}
    named = [(name, [number(before.get(key)), number(after.get(key))]) for key, name in words.items()]
    said = "; ".join(f"{name} {share(a)} before, {share(b)} after" for name, (a, b) in named)
    return Picture(
        title=f"Predicting {target}",
        plot=bar_chart(named, BEFORE_AND_AFTER, full=1.0),
        alt=f"Predicting {target} from the quasi-identifiers: {said}.",
        note=f"A logistic regression tested on {counted(facts)} it has not seen; {classes}. The last pair is what "
        "guessing gets.",
        legend=BEFORE_AND_AFTER,
        table=Table(
            head=["Measure", "Before", "After"],
            rows=[
                *([name, share(a), share(b)] for name, (a, b) in named),
                ["Log loss", figure(before.get("log_loss")), figure(after.get("log_loss"))],
                [f"{counted(facts).capitalize()} used", count(before.get("rows")), count(after.get("rows"))],
            ],
        ),
    )
