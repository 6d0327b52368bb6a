"""Which plans a sweep tries: settings by name, values as list or range, every combination checked before any work."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

from sfumato.anonymizers.base import options_of
from sfumato.anonymizers.choosing import aiming_at
from sfumato.errors import InputError, PlanError, PolicyError, Problem, did_you_mean
from sfumato.models.base import Policy, plain_number
from sfumato.parameters import Takes, one_of, parameters_of
from sfumato.plan import Plan

MOST_COMBINATIONS = 1_000
FEW = 6  # whole numbers of a range that are all taken; longer ranges are thinned out
_RANGE = re.compile(r"(?P<low>[+-]?\d+(?:\.\d+)?)\.\.(?P<high>[+-]?\d+(?:\.\d+)?)(?:/(?P<steps>\d+))?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", re.ASCII)
_EXAMPLE = "Write --vary k=2,5,10 or --vary t=0.2..0.5 or --vary t=0.2..0.5/7."


@dataclass(frozen=True)
class Setting:
    """Something in a plan that can be varied."""

    names: tuple[str, ...]  # the full one first, the shortest last
    value: Any  # in the plan as it is
    change: Callable[[Plan, Any], Plan]
    requirement: int | None = None  # position of the requirement it belongs to, None for an option of an anonymizer


@dataclass(frozen=True)
class Axis:
    """A setting and the values to try."""

    name: str
    setting: Setting
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Combination:
    """One combination of values, and the plan that has them."""

    values: Mapping[str, Any]
    plan: Plan

    def __str__(self) -> str:
        return ", ".join(f"{name}={shown(value)}" for name, value in self.values.items())


@dataclass(frozen=True)
class Grid:
    """All combinations of some axes."""

    axes: tuple[Axis, ...]
    combinations: tuple[Combination, ...]

    @property
    def requirements(self) -> tuple[int, ...]:
        """The positions of the requirements that are varied."""
        return tuple(sorted({axis.setting.requirement for axis in self.axes if axis.setting.requirement is not None}))


def grid_of(plan: Plan, vary: Mapping[str, str | Sequence[Any]]) -> Grid:
    """Return every combination, or raise with everything that is wrong with the values.

    >>> plan = Plan.from_dict({"columns": {"age": {"role": "quasi-identifier"}},
    ...     "require": [{"model": "k-anonymity", "k": 5}]})
    >>> [str(combination) for combination in grid_of(plan, {"k": "2..4"}).combinations]
    ['k=2', 'k=3', 'k=4']
    """
    plan.searchable()
    if not vary:
        raise PolicyError(f"Nothing was given to vary.\n{_EXAMPLE}")
    settings = list(settings_of(plan))
    axes = []
    for name, given in vary.items():
        setting = _named(name, settings)
        axes.append(Axis(name, setting, _values(given, name)))
    if twice := [axis.name for axis in axes if sum(other.setting is axis.setting for other in axes) > 1]:
        raise PolicyError(
            f"The same setting was given more than once: {', '.join(twice)}.\nGive all its values at once."
        )
    size = math.prod(len(axis.values) for axis in axes)
    if size > MOST_COMBINATIONS:
        raise PolicyError(
            f"{size:,} combinations were asked for; a sweep takes up to {MOST_COMBINATIONS:,}.\n"
            "Give fewer values, or ranges with fewer steps such as 0.2..0.5/3."
        )
    return Grid(tuple(axes), tuple(_combinations(plan, axes)))


def _combinations(plan: Plan, axes: Sequence[Axis]) -> Iterator[Combination]:
    problems: dict[Problem, None] = {}
    for axis in axes:
        for value in axis.values:
            try:
                axis.setting.change(plan, value)
            except (InputError, TypeError, ValueError) as error:
                text = f"{axis.name}={shown(value)}: {' '.join(str(error).split())}"
                problems[Problem(axis.name, text)] = None
    if problems:
        raise PlanError(problems, "The sweep")
    for values in itertools.product(*(axis.values for axis in axes)):
        changed = plan
        for axis, value in zip(axes, values, strict=True):
            changed = axis.setting.change(changed, value)
        yield Combination({axis.name: value for axis, value in zip(axes, values, strict=True)}, changed)


# Settings.


def settings_of(plan: Plan) -> Iterator[Setting]:
    """Yield everything that can be varied: parameters of requirements, their anonymizers, and options of these."""
    for position, model in enumerate(plan.policy):
        prefixes = (*(f"{model.name}.{column}." for column in model.judged_columns), f"{model.name}.", "")
        for parameter in parameters_of(type(model)):
            if parameter.takes in (Takes.COLUMN, Takes.COLUMNS):
                continue
            value = getattr(model, parameter.name)
            parts: list[str | None] = list(value) if parameter.per_column else [None]
            for part in parts:
                name = parameter.name if part is None else f"{parameter.name}.{part}"
                yield Setting(
                    tuple(prefix + name for prefix in prefixes),
                    value if part is None else value[part],
                    partial(_with_parameter, position, parameter.name, part),
                    position,
                )
        named = tuple(f"{prefix}anonymizer" for prefix in prefixes)
        yield Setting(named, plan.chosen.get(position), partial(_with_anonymizer, position))
    for step in plan.steps():
        for option, value in options_of(step.anonymizer).items():
            names = (f"{step.anonymizer.name}.{option}", option)
            yield Setting(names, value, partial(_with_option, step.anonymizer.name, option))


def _with_parameter(position: int, parameter: str, part: str | None, plan: Plan, value: Any) -> Plan:
    models = list(plan.policy)
    if part is not None:
        value = {**getattr(models[position], parameter), part: value}
    models[position] = replace(models[position], **{parameter: value})  # type: ignore[type-var]
    return replace(plan, policy=Policy(tuple(models)))


def _with_anonymizer(position: int, plan: Plan, value: Any) -> Plan:
    one_of(value, "anonymizer", aiming_at(plan.policy.requirements[position]))
    return replace(plan, chosen={**plan.chosen, position: value})


def _with_option(anonymizer: str, option: str, plan: Plan, value: Any) -> Plan:
    at_work = {step.anonymizer.name: step.anonymizer for step in plan.steps()}
    if anonymizer not in at_work:
        return plan  # another one does the work in this combination
    changed = replace(at_work[anonymizer], **{option: value})  # type: ignore[type-var]
    return replace(plan, options={**plan.options, anonymizer: changed})


def _named(name: str, settings: Sequence[Setting]) -> Setting:
    found = [setting for setting in settings if name in setting.names]
    if len(found) == 1:
        return found[0]
    if not found:
        known = {setting.names[-1] for setting in settings} | {setting.names[-2] for setting in settings}
        raise PolicyError(
            f"{name!r} was given to vary, but the plan has no such setting.{did_you_mean(name, known)}\n"
            "Settings are parameters of its requirements and options of its anonymizers."
        )
    # The shortest names that tell them apart.
    clear = []
    for setting in found:
        alone = [n for n in setting.names if sum(n in other.names for other in found) == 1]
        clear.append(alone[-1] if alone else setting.names[0])
    raise PolicyError(
        f"{name!r} was given to vary, but {len(found)} settings of the plan have that name.\n"
        f"Say which one: {', '.join(clear)}."
    )


# Values.


def parse_vary(given: Sequence[str]) -> dict[str, str]:
    """Return names and values of options such as `k=2,5,10`.

    >>> parse_vary(["k=2,5", "t=0.2..0.5"])
    {'k': '2,5', 't': '0.2..0.5'}
    """
    vary: dict[str, str] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise PolicyError(f"--vary was given {text!r}, which is no name with values.\n{_EXAMPLE}")
        if name.strip() in vary:
            raise PolicyError(
                f"--vary was given {name.strip()!r} more than once.\nGive all its values at once: k=2,5,10."
            )
        vary[name.strip()] = values.strip()
    return vary


def _values(given: str | Sequence[Any], name: str) -> tuple[Any, ...]:
    """Return the values of an axis, each once."""
    if not isinstance(given, str):
        values = list(given)
    else:
        values = [value for part in given.split(",") for value in _expanded(part.strip(), name)]
    distinct = list({repr(value): value for value in values}.values())
    if not distinct:
        raise PolicyError(f"{name!r} was given no values.\n{_EXAMPLE}")
    return tuple(distinct)


def _expanded(part: str, name: str) -> list[Any]:
    if not part:
        raise PolicyError(f"{name!r} was given an empty value.\n{_EXAMPLE}")
    if (match := _RANGE.fullmatch(part)) is not None:
        return spread(Decimal(match["low"]), Decimal(match["high"]), int(match["steps"]) if match["steps"] else None)
    if ".." in part:
        raise PolicyError(f"{name!r} was given the range {part!r}, whose ends are no plain numbers.\n{_EXAMPLE}")
    return [_scalar(part)]


def _scalar(text: str) -> Any:
    """Return a value as TOML would have it; a fraction stays text.

    >>> _scalar("5"), _scalar("0.25"), _scalar("1/3"), _scalar("true"), _scalar("exact")
    (5, 0.25, '1/3', True, 'exact')
    """
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def spread(low: Decimal, high: Decimal, steps: int | None = None) -> list[int | float]:
    """Return numbers from low to high, both included: so many, or as many as make round steps.

    Whole numbers stay whole; a long range of them grows by factors: the step from 2 to 5 says more than from 52 to 55.

    >>> spread(Decimal("0.2"), Decimal("0.5")), spread(Decimal(2), Decimal(5)), spread(Decimal(2), Decimal(100))
    ([0.2, 0.3, 0.4, 0.5], [2, 3, 4, 5], [2, 5, 14, 38, 100])
    >>> spread(Decimal(0), Decimal(1), 3), spread(Decimal("0"), Decimal("1.0"))
    ([0, 1], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    if high < low:
        low, high = high, low
    if steps is not None and not 1 <= steps <= MOST_COMBINATIONS:
        raise PolicyError(f"{steps} steps were asked for.\nUse 1 to {MOST_COMBINATIONS:,}.")
    if low == high or steps == 1:
        return [_plain(low)]
    if low.as_tuple().exponent == 0 and high.as_tuple().exponent == 0:
        return list(_whole(int(low), int(high), steps))
    count = steps or min((5, 4, 6, 7, 3), key=lambda n: len(_decimals((high - low) / (n - 1))))
    return [float(round(low + (high - low) * place / (count - 1), 12)) for place in range(count)]


def _whole(low: int, high: int, steps: int | None) -> list[int]:
    if steps is None and high - low < FEW:
        return list(range(low, high + 1))
    count = steps or 5
    if low > 0 and high >= 4 * low:
        found = [round(low * (high / low) ** (place / (count - 1))) for place in range(count)]
    else:
        found = [round(low + (high - low) * place / (count - 1)) for place in range(count)]
    return sorted(set(found))


def _plain(number: Decimal) -> int | float:
    return int(number) if number.as_tuple().exponent == 0 else float(number)


def _decimals(number: Decimal) -> str:
    return str(number.normalize()).partition(".")[2]


def shown(value: Any) -> str:
    """Return a value as it is written in a plan or on the command line."""
    value = plain_number(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
