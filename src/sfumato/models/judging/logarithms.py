"""Comparing logarithms of fractions with fractions, exactly: where floats are too near, as many digits as it takes."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction


def logarithm_exceeds(ratio: Fraction, bound: Fraction) -> bool:
    """Return whether ln ratio > bound.

    They are equal at ratio 1 and bound 0 only: no other power of e with a fraction as exponent is a fraction
    (Lindemann 1882). So digits decide, sooner or later.

    >>> logarithm_exceeds(Fraction(20), Fraction("2.9957")), logarithm_exceeds(Fraction(20), Fraction("2.9958"))
    (True, False)
    >>> logarithm_exceeds(Fraction(1), Fraction(0))
    False
    """
    if ratio == 1:
        return bound < 0
    digits = 40
    while True:
        with localcontext() as context:
            context.prec = digits
            gap = Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()
            gap -= Decimal(bound.numerator) / Decimal(bound.denominator)
            # Each of the four roundings is off by less than one unit of the last place of numbers below 10^6.
            if abs(gap) > Decimal(10) ** (8 - digits):
                return bool(gap > 0)
        digits *= 2
