"""The guesses of a draft as a short table: columns of wide tables that are guessed alike share a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sfumato.drafting.roles import Guess

WIDE = 40  # columns from which on those that are guessed alike share a line
_SHOWN = 6  # names, or families of names, of a line
_ALIKE = 3  # columns that are a family
_PARTICULAR = re.compile(r"'[^']*'|\d[\d,.]*%?")  # of a reason: names and numbers


def overview(guesses: Sequence[Guess]) -> list[tuple[str, str, str, str]]:
    """Return names, role, kind and reason, one line a column; of wide tables, one line for all that are guessed alike.

    >>> from sfumato.data.schema import Kind, Role
    >>> alike = [Guess(name=f"q{i}", role=Role.OTHER, kind=Kind.NUMBER, reason=f"{i} numbers") for i in range(50)]
    >>> overview(alike), len(overview(alike[:9]))
    ([('50 columns: q0 to q49', 'other', 'number', '... numbers')], 9)
    """
    if len(guesses) <= WIDE:
        return [(each.name, each.role.value, each.kind.value, each.reason) for each in guesses]
    alike: dict[tuple[str, str, str], list[Guess]] = {}
    for guess in guesses:
        key = (guess.role.value, guess.kind.value, _PARTICULAR.sub("...", guess.reason))
        alike.setdefault(key, []).append(guess)
    lines = []
    for (role, kind, reason), members in alike.items():
        names, reasons = [each.name for each in members], {each.reason for each in members}
        column = f"{len(names)} columns: {_names(names)}" if len(names) > 1 else names[0]
        lines.append((column, role, kind, reason if len(reasons) > 1 else members[0].reason))
    return lines


def _names(names: Sequence[str]) -> str:
    """Return names, those of a family as its first and its last one, and how many more there are.

    >>> _names(["age", "q1", "q2", "q3", "lab_na", "lab_k", "lab_ca"])
    'age, q1 to q3, lab_na to lab_ca'
    """
    families: dict[str, list[str]] = {}
    for name in names:
        stem = name.rstrip("0123456789")
        families.setdefault(stem if stem != name else name.rpartition("_")[0] or name, []).append(name)
    told: list[tuple[str, int]] = []
    for members in families.values():
        if len(members) >= _ALIKE:
            told.append((f"{members[0]} to {members[-1]}", len(members)))
        else:
            told += [(name, 1) for name in members]
    more = sum(count for _, count in told[_SHOWN:])
    return ", ".join(text for text, _ in told[:_SHOWN]) + (f" and {more} more" if more else "")
