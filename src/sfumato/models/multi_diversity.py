"""Multi-Diversity: knowing or excluding one sensitive value must not give away another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from typing import ClassVar

from sfumato.data.release import Release
from sfumato.models.alpha_diversity import (
    MISSING_IS_SENSITIVE,
    READING,
    SENSITIVE,
    OfMasks,
    highest_chance,
    smallest_class,
)
from sfumato.models.base import Verdict, plain_number
from sfumato.models.judging.posteriors import Secrets
from sfumato.parameters import AsWritten, Exact, parametrized


@parametrized
class MultiDiversity(OfMasks):
    """Each value of each sensitive column stays at most as likely as `alpha_sa` to who knows all the others.

    A sensitive equivalence class of a column is the rows that agree in all quasi-identifiers and in the published labels
    of the other sensitive columns. In each of them a value is at most as likely as alpha_sa, and in each class of
    quasi-identifiers at most as likely as `alpha_qi` (alpha_sa unless given; it changes something below alpha_sa only,
    because a class is a mixture of its sensitive equivalence classes). Any knowledge about the other columns, a value
    known or excluded, for certain or by chance, weights such classes anew, so it leads to no more than alpha_sa either.
    Labels, base rates, `k` and missing values are read as in `AlphaDiversity`.

    Source: treating all but one sensitive attribute as quasi-identifiers goes back to Machanavajjhala et al. (2007);
    alpha requirement: Wong et al. (2006).
    Limit: whoever can exclude values of the column itself believes more in the others.

    >>> from dataclasses import replace
    >>> from sfumato.data.base_rates import BaseRates
    >>> from sfumato.data.builders import Flat
    >>> from sfumato.data.knowledge import PublicInputs
    >>> table = {"illness": ["a", "a", "b", "b"], "father": ["x", "x", "y", "y"]}
    >>> release = Release.of(table, **dict.fromkeys(table, {"role": "sensitive", "hierarchy": Flat()}))
    >>> rates = {"illness": BaseRates(weight={"a": 1, "b": 1}), "father": BaseRates(weight={"x": 1, "y": 1})}
    >>> release = replace(release, public=PublicInputs(base_rates=rates))
    >>> print(MultiDiversity(sensitive=["illness", "father"], alpha_sa=0.5).audit(release))
    multi-diversity of 'illness', 'father' FAILS: largest chance above a base rate 1, required at most 0.5 (4 of 4 sensitive equivalence classes, 4 rows)
    """  # noqa: E501

    name: ClassVar[str] = "multi-diversity"

    sensitive: str | Sequence[str] = field(metadata=SENSITIVE)  # becomes a tuple of names
    alpha_sa: Exact = field(
        metadata=highest_chance(
            "Highest chance, others known", "How likely a value may be for who knows the other columns."
        )
    )
    alpha_qi: Exact | None = field(
        default=None,
        metadata=highest_chance(
            "Highest chance in a class", "The same for who knows the class only; alpha_sa when left out."
        ),
    )
    k: int | None = field(default=None, metadata=smallest_class("ceil(1 / alpha_qi)"))
    reading: str = field(default="prior", metadata=READING)
    missing_is_sensitive: bool = field(default=True, metadata=MISSING_IS_SENSITIVE)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "sensitive", self.judged_columns)
        object.__setattr__(self, "alpha_qi", self.exact_alpha_qi)
        object.__setattr__(self, "k", self.k or math.ceil(1 / self.exact_alpha_qi))

    exact_alpha_sa = AsWritten("alpha_sa")

    @property
    def exact_alpha_qi(self) -> Fraction:
        """The parameter alpha_qi as it was written, alpha_sa when it was not."""
        return Fraction(self.alpha_sa if self.alpha_qi is None else self.alpha_qi)

    @property
    def promise(self) -> str:
        """What holds when the audit passes."""
        return (
            f"Whoever finds a person's class, and knows or excludes whatever they like of the others among "
            f"{self._named}, believes in no value of one of them more than "
            f"{plain_number(self.exact_alpha_sa)}{self._beyond}."
        )

    @property
    def limit(self) -> str:
        """An attack that it does not stop."""
        return f"Whoever can exclude values of the column itself believes more in those that are left. {super().limit}"

    def warnings(self) -> Iterator[str]:
        """Yield what makes it ask for less than it seems to."""
        if len(self.judged_columns) == 1:
            yield (
                f"multi-diversity names one column only, {self.judged_columns[0]!r}: that is alpha-diversity, "
                "there is no other secret to know."
            )
        elif self.exact_alpha_qi > self.exact_alpha_sa:
            yield "multi-diversity has alpha_qi above alpha_sa, which asks for nothing more."

    def audit(self, release: Release, *, name_items: bool = False) -> Verdict:
        """Judge a release by what sensitive values tell about one another."""
        secrets = Secrets.of(release, self.judged_columns, self)
        sizes = self._size_verdict(release)
        if sizes is not None:
            return sizes
        whole = self._judge(secrets, self.exact_alpha_qi, knowing_others=False)
        if whole.failing:
            return self._verdict(whole, self.exact_alpha_qi, "class")
        known = self._judge(secrets, self.exact_alpha_sa, knowing_others=True)
        group = "sensitive equivalence class"
        return self._verdict(known, self.exact_alpha_sa, group, highest_chance_in_classes=whole.highest)
