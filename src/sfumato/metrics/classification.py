from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy  # whose parts are loaded when they are first used
from numpy.typing import NDArray

from sfumato.data.dataset import CodedColumn, CodedSets, Codes, DistinctRows, counted, distinct_codes
from sfumato.data.schema import Role
from sfumato.errors import PolicyError
from sfumato.metrics.base import Asked, Measurement, Metric, amount, ratio
from sfumato.metrics.comparison import Comparison, Pair
from sfumato.metrics.cover import Cover, identity

_MOST_FEATURES = 50  # of one column; rarer values share one feature
_ALL_FEATURES = 400  # of many columns together, 8 each at least
_PENALTY = 1.0  # on squared weights, for the whole training set
_ITERATIONS = 60
_TOLERANCE = 1e-4  # of the loss, between two steps
_CHANCE = 2.0  # standard errors of a difference below which it is taken for chance
_CERTAIN = 500.0  # a score beyond which chances are 0 or 1, and exp() still holds


@dataclass(frozen=True, kw_only=True)
class Classification(Metric):
    """How well a column can still be predicted from the quasi-identifiers: accuracy before and after.

    The same learner, multinomial logistic regression, is trained and tested by cross-validation on the original, and
    again on the release alone: trained on published records, tested on other published records. Values are features; a
    label counts as an even mixture of the values that it covers, a range of numbers as their mean. The `target` is the
    first sensitive column unless given; numbers are predicted in classes of about equal size, and rare values together.
    Limit: a linear learner; and a target that becomes predictable can also mean that a secret does.

    >>> before, after = ({"sex": sex * 20, "tall": ["no", "yes"] * 20} for sex in (["f", "m"], ["*", "*"]))
    >>> measured = Classification().of(Comparison.of_tables(before, after, sex="quasi-identifier", tall="sensitive"))
    >>> measured.before, measured.facts["target"]
    (1.0, 'tall')
    """

    name: ClassVar[str] = "classification"
    main: ClassVar[bool] = True

    target: str | None = None
    folds: int = 5
    most_rows: int = 50_000  # of each table; a random choice of more
    most_classes: int = 20
    number_classes: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.folds < 2 or self.most_classes < 2 or self.number_classes < 2 or self.most_rows < self.folds:
            raise PolicyError(
                "Classification needs at least two folds, two classes and a row for each fold; got "
                f"folds={self.folds}, most_classes={self.most_classes}, number_classes={self.number_classes}, "
                f"most_rows={self.most_rows}."
            )

    @classmethod
    def suited_to(cls, comparison: Comparison, asked: Asked) -> Iterator[Self]:
        """Yield the metric where there is a column to predict."""
        if asked.target is not None or default_target(comparison) is not None:
            yield cls(target=asked.target, seed=asked.seed)

    def found(self, comparison: Comparison) -> Measurement:
        """Measure a comparison."""
        target = self.target or default_target(comparison)
        if target is None:
            return self._nothing("The table has no column of single values to predict.", None)
        if isinstance(comparison.release.columns.get(target), CodedSets):
            return self._nothing(
                f"Column {target!r} is published as sets, so there is nothing to check a prediction by.", target
            )
        pair = comparison.pair(target)
        class_of, classes = self._classes(pair)
        features = [other for other in comparison.quasi_identifiers if other.original.name != target]
        most = min(_MOST_FEATURES, max(_ALL_FEATURES // max(len(features), 1), 8))
        binned = [_Features(other.original, other.before, most) for other in features]
        before = self._cross_validate(
            [(other.original.codes, identity(other.original)) for other in features],
            comparison.distinct_before if pair not in comparison.quasi_identifiers else None,
            binned,
            class_of[pair.original.codes],
            len(classes),
            pair.rows[0],
            comparison.of_records(before=True),
        )
        after = self._cross_validate(
            [(other.released.codes, other.cover) for other in features],
            comparison.distinct_after if pair not in comparison.quasi_identifiers else None,
            binned,
            _class_of_labels(pair.cover, class_of, len(classes))[pair.released.codes],
            len(classes),
            pair.rows[1],
            comparison.of_records(before=False),
        )
        difference = _difference(before, after)
        guessed = [amount(side["baseline"], "share") for side in (before, after)]
        return Measurement(
            title=f"Accuracy of predicting {target!r}",
            value=after["accuracy"],
            before=before["accuracy"],
            unit="share",
            better="higher",
            worst=after["baseline"],
            note=f"guessing {guessed[1]}{difference and '; ' + difference}",
            explanation=f"Trained on published {comparison.those}, a logistic regression predicts {target!r} of others "
            f"right in {amount(after['accuracy'], 'share')} of the cases; always saying their most frequent class gets "
            f"{guessed[1]}. On the original it is {amount(before['accuracy'], 'share')}, and {guessed[0]} by guessing."
            f"{difference and ' ' + difference[0].upper() + difference[1:] + '.'}",
            facts={
                "target": target,
                "classes": classes,
                "features": [other.original.name for other in features],
                "folds": self.folds,
                "before": before,
                "after": after,
            }
            | comparison.weighted_by,
        )

    def _nothing(self, why: str, target: str | None) -> Measurement:
        return Measurement(
            title="Accuracy of predictions",
            value=0.0,
            unit="share",
            better="higher",
            explanation=why,
            facts={"target": target, "classes": [], "features": [], "folds": self.folds, "before": None, "after": None},
        )

    def _classes(self, pair: Pair) -> tuple[NDArray[np.int64], list[str]]:
        """Return the class of each value of the target, shape (v,), and the classes' names."""
        column, counts = pair.original, pair.before
        n_codes = len(column.labels)
        if column.values is not None and n_codes > self.number_classes:
            known = n_codes - (column.missing >= 0)
            below = np.cumsum(counts[:known]) - counts[:known] / 2
            class_of = np.minimum(below * self.number_classes // max(counts[:known].sum(), 1), self.number_classes - 1)
            class_of = np.unique(class_of, return_inverse=True)[1]
            names = []
            for at in range(int(class_of.max()) + 1):
                members = np.flatnonzero(class_of == at)
                low, high = column.labels[members[0]], column.labels[members[-1]]
                names.append(low if low == high else f"[{low}, {high}]")
            if column.missing >= 0:
                class_of, names = np.append(class_of, len(names)), [*names, "(missing)"]
            return class_of, names
        if n_codes <= self.most_classes:
            return np.arange(n_codes), list(column.labels)
        frequent = np.sort(np.lexsort((np.arange(n_codes), -counts))[: self.most_classes - 1])
        class_of = np.full(n_codes, frequent.size)
        class_of[frequent] = np.arange(frequent.size)
        return class_of, [column.labels[code] for code in frequent] + [f"({n_codes - frequent.size:,} others)"]

    def _cross_validate(
        self,
        columns: Sequence[tuple[Codes, Cover]],
        distinct: DistinctRows | None,
        binned: Sequence[_Features],
        class_of_row: NDArray[np.int64],
        n_classes: int,
        weights: NDArray[np.int64] | None,
        survey: NDArray[np.float64] | None,
    ) -> dict[str, Any]:
        """Train and test on all folds; rows with class -1 are left out."""
        if distinct is None:
            sized = [(codes, covered.n_labels) for codes, covered in columns]
            distinct = distinct_codes(sized, class_of_row.size, weights)
        keys = distinct.distinct_of.astype(np.int64) * (n_classes + 1) + class_of_row + 1
        drawn = self._drawn(keys, n_classes, weights, survey)
        pairs, n_used = drawn.pairs, int(drawn.by_fold.sum())

        used, distinct_of = np.unique(pairs // (n_classes + 1), return_inverse=True)
        class_of = pairs % (n_classes + 1) - 1
        table = np.zeros((self.folds, used.size, n_classes))
        table[:, distinct_of, class_of] = drawn.by_fold.T * drawn.each
        totals = table.sum(axis=(0, 1))
        present = np.flatnonzero(totals)
        table = table[:, :, present]
        result = {
            "rows": n_used,
            "rows_unlabelled": drawn.unlabelled,
            "classes": present.size,
            "baseline": ratio(float(totals.max(initial=0.0)), n_used),
            # Rows of unequal weights tell as much as so many of equal ones (Kish 1965).
            "effective_rows": ratio(n_used**2, float(drawn.each**2 @ drawn.by_fold.sum(axis=1))),
        }
        if present.size < 2 or n_used < 2 * self.folds:
            nothing = {"accuracy": result["baseline"], "balanced_accuracy": ratio(1, present.size), "log_loss": 0.0}
            return result | nothing
        design = _Design(distinct.codes[used], table.sum(axis=(0, 2)), [covered for _, covered in columns], binned)
        right, loss = np.zeros(present.size), 0.0
        for fold in range(self.folds):
            test = table[fold]
            log_chance = design.fit(table.sum(axis=0) - test)
            best = log_chance.argmax(axis=1)
            right += np.bincount(best, test[np.arange(used.size), best], minlength=present.size)
            loss -= float((test * log_chance).sum())
        return result | {
            "accuracy": float(right.sum() / n_used),
            "balanced_accuracy": float((right / totals[present]).mean()),
            "log_loss": loss / n_used,
        }

    def _drawn(
        self,
        keys: NDArray[np.int64],
        n_classes: int,
        weights: NDArray[np.int64] | None,
        survey: NDArray[np.float64] | None,
    ) -> _Drawn:
        """Draw rows and folds. Rows are numbered by their contents, so that chance treats equal tables equally."""
        pairs, number_of = np.unique(keys, return_inverse=True)
        counts = counted(number_of, pairs.size, weights)
        mass = counts if survey is None else np.bincount(number_of, survey, minlength=pairs.size)
        n_rows, labelled = int(counts.sum()), pairs % (n_classes + 1) > 0
        pairs, counts, each = pairs[labelled], counts[labelled], (mass / np.maximum(counts, 1))[labelled]
        rng = np.random.default_rng(self.seed)
        n_labelled = int(counts.sum())
        if n_labelled > self.most_rows:
            drawn = rng.choice(n_labelled, self.most_rows, replace=False, shuffle=False)
            counts = np.bincount(np.searchsorted(np.cumsum(counts), drawn, side="right"), minlength=pairs.size)
            pairs, counts, each = pairs[counts > 0], counts[counts > 0], each[counts > 0]
        n_used = int(counts.sum())
        fold_of = rng.permutation(n_used) % self.folds
        pair_of = np.repeat(np.arange(pairs.size), counts)
        by_fold = np.bincount(pair_of * self.folds + fold_of, minlength=pairs.size * self.folds)
        each = each * (n_used / (float(each @ counts) or 1.0))
        return _Drawn(pairs, by_fold.reshape(pairs.size, self.folds), each, n_rows - n_labelled)


class _Drawn(NamedTuple):
    """Rows to learn from. Sizes: p pairs of a distinct row and a class, f folds.

    Of a survey, the rows of a pair count the mean of their weights, and all together as many as there are, so that the
    penalty means the same.
    """

    pairs: NDArray[np.int64]  # (p,): distinct row times (classes + 1), plus the class, from 1 on
    by_fold: NDArray[np.int64]  # (p, f): rows
    each: NDArray[np.float64]  # (p,): what a row counts
    unlabelled: int  # rows without a class


def _difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return what is to be said of a difference that does not mean what it seems to; nothing of one that does."""
    variance = sum(
        side["accuracy"] * (1 - side["accuracy"]) / max(side["effective_rows"], 1) for side in (before, after)
    )
    if 0 < abs(after["accuracy"] - before["accuracy"]) <= _CHANCE * math.sqrt(variance):
        return "the difference is within chance"
    left_out = after["rows_unlabelled"]
    if after["accuracy"] > before["accuracy"] and left_out:
        return f"without the {left_out:,} rows that show no single class, which is another question"
    return ""


def default_target(comparison: Comparison) -> str | None:
    """Return the first sensitive column of single values that is published as such, None when there is none."""
    for column in comparison.dataset.with_role(Role.SENSITIVE):
        published = comparison.release.columns.get(column.name)
        if isinstance(column, CodedColumn) and not isinstance(published, CodedSets):
            return column.name
    return None


Loss = Callable[[NDArray[np.float64]], tuple[float, NDArray[np.float64]]]


class _Features:
    """Numbers that stand for the values of one quasi-identifier."""

    def __init__(self, column: CodedColumn, counts: NDArray[np.int64], most: int) -> None:
        n_codes = len(column.labels)
        self.missing = column.missing
        self.values: NDArray[np.float64] | None = None
        self.bin_of = np.arange(n_codes)
        if column.values is not None:
            known = ~np.isnan(column.values)
            total = max(int(counts[known].sum()), 1)
            mean = float(column.values[known] @ counts[known]) / total
            spread = np.sqrt(float((column.values[known] - mean) ** 2 @ counts[known]) / total)
            self.values = np.where(known, (column.values - mean) / (spread or 1.0), 0.0)
        elif n_codes > most:
            self.bin_of = np.full(n_codes, most - 1)
            frequent = np.lexsort((np.arange(n_codes), -counts))[: most - 1]
            self.bin_of[frequent] = np.arange(frequent.size)
        self.n_bins = int(self.bin_of.max(initial=-1)) + 1

    def of(self, covered: Cover) -> NDArray[np.float64]:
        """Return the features of each label, shape (m, f): the mean over the values that it covers."""
        size = np.maximum(covered.size, 1)
        if self.values is None:
            return np.stack([covered.sums(self.bin_of == at) / size for at in range(self.n_bins)], axis=1)
        features = [covered.sums(self.values) / size]
        if self.missing >= 0:
            is_missing = np.zeros(covered.n_codes)
            is_missing[self.missing] = 1.0
            features.append(covered.sums(is_missing) / size)
        return np.stack(features, axis=1)


class _Design:
    """Distinct rows as rows of features, kept as labels: a distinct row's score is the sum of its labels' scores."""

    def __init__(
        self, codes: Codes, weight: NDArray[np.float64], covers: Sequence[Cover], binned: Sequence[_Features]
    ) -> None:
        n_distinct = codes.shape[0]
        self.weight = weight
        self.blocks = [np.ones((1, 1))]  # the constant
        positions = [np.zeros(n_distinct, dtype=np.int64)]
        offset = 1
        for column, (covered, features) in enumerate(zip(covers, binned, strict=True)):
            used, label_of = np.unique(codes[:, column], return_inverse=True)
            self.blocks.append(features.of(covered.take(used)))
            positions.append(label_of + offset)
            offset += used.size
        indices = np.stack(positions, axis=1).ravel().astype(np.int32)
        starts = np.arange(n_distinct + 1, dtype=np.int32) * np.int32(len(positions))
        self.labels_of = scipy.sparse.csr_array((np.ones(indices.size), indices, starts), shape=(n_distinct, offset))
        self.rows_of = self.labels_of.T.tocsr()
        self.label_ends = np.cumsum([block.shape[0] for block in self.blocks])
        self.ends = np.cumsum([block.shape[1] for block in self.blocks])

    @cached_property
    def second(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eigenvalues (f,) and eigenvectors (f, f) of the second moments of the features."""
        features = scipy.sparse.block_diag([scipy.sparse.csr_array(block) for block in self.blocks], format="csr")
        together = self.rows_of @ self.labels_of.multiply(self.weight[:, None]).tocsr()
        moments = (features.T @ (together @ features)).toarray()
        values, vectors = np.linalg.eigh(moments)
        return np.maximum(values, 0.0), vectors

    def fit(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Train on counts of distinct rows and classes, both sides (c, classes); return the log of each class's chance.

        The search starts from the classes' shares. There the second derivatives are a product of one matrix over
        features and one over classes, plus the penalty; it goes through coordinates in which they are the identity.
        """
        total = counts.sum()
        per_distinct = counts.sum(axis=1)
        share = (counts.sum(axis=0) + 1) / (total + counts.shape[1])
        # The score of the last class is zero, so it has no weights.
        by_class, class_axes = np.linalg.eigh(np.diag(share[:-1]) - np.outer(share[:-1], share[:-1]))
        by_feature, feature_axes = self.second
        scale = 1 / np.sqrt(np.outer(by_feature, by_class) + _PENALTY)
        first = np.zeros(scale.shape)
        first[0] = np.log(share[:-1] / share[-1])

        def weights_at(flat: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(first + feature_axes @ (flat.reshape(scale.shape) * scale) @ class_axes.T)

        def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            weights = weights_at(flat)
            score = self._scores(weights)
            fit = float(np.einsum("ck,ck->", counts[:, :-1], score))
            chance = np.exp(score, out=score)
            whole = 1 + chance.sum(axis=1)
            fit -= float((per_distinct * np.log(whole)).sum())
            chance *= (per_distinct / whole)[:, None]
            chance -= counts[:, :-1]
            parts = np.split(self.rows_of @ chance, self.label_ends[:-1])
            gradient = np.concatenate([block.T @ part for block, part in zip(self.blocks, parts, strict=True)])
            weights[0] = 0.0  # the constant goes without a penalty
            value = _PENALTY / 2 * float((weights**2).sum()) - fit
            turned = feature_axes.T @ (gradient + _PENALTY * weights) @ class_axes * scale
            return value, turned.ravel()

        weights = weights_at(minimized(loss, np.zeros(first.size)))
        score = np.zeros(counts.shape)
        score[:, :-1] = self._scores(weights)
        score -= np.log(np.exp(score).sum(axis=1, keepdims=True))
        return score

    def _scores(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        parts = np.split(weights, self.ends[:-1])
        per_label = np.concatenate([block @ part for block, part in zip(self.blocks, parts, strict=True)])
        score: NDArray[np.float64] = self.labels_of @ per_label
        return np.clip(score, -_CERTAIN, _CERTAIN, out=score)


def minimized(loss: Loss, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return where a smooth convex function is smallest, by L-BFGS (Nocedal 1980) with steps halved until they help.

    `loss` returns value and gradient; its second derivatives should be near the identity at the start. SciPy's version
    spends most of its time waking threads at this size.

    >>> minimized(lambda x: (float(((x - 3) ** 4).sum()), 4 * (x - 3) ** 3), np.array([2.0])).round(1).tolist()
    [3.0]
    """
    at, (value, gradient) = start, loss(start)
    moves: deque[tuple[NDArray[np.float64], NDArray[np.float64], float]] = deque(maxlen=8)
    for _ in range(_ITERATIONS):
        direction = -gradient
        parts = []
        for move, turn, curve in reversed(moves):
            parts.append(float(move @ direction) / curve)
            direction -= parts[-1] * turn
        if moves:
            direction *= moves[-1][2] / float(moves[-1][1] @ moves[-1][1])
        for (move, turn, curve), part in zip(moves, reversed(parts), strict=True):
            direction += (part - float(turn @ direction) / curve) * move
        slope = float(gradient @ direction)
        if slope >= 0:
            break
        step = 1.0
        new_value, new_gradient = loss(at + direction)
        while not new_value <= value + 1e-4 * step * slope and step > 1e-9:
            step /= 2
            new_value, new_gradient = loss(at + step * direction)
        if not new_value < value:
            break
        move, turn = step * direction, new_gradient - gradient
        curve = float(move @ turn)
        if curve > 0:
            moves.append((move, turn, curve))
        gain = value - new_value
        at, value, gradient = at + move, new_value, new_gradient
        if gain <= _TOLERANCE * abs(value):
            break
    return at


def _class_of_labels(covered: Cover, class_of: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """Return the class of each published label of the target, -1 where it may be one of several, shape (m,)."""
    result = np.full(covered.n_labels, -1, dtype=np.int64)
    for at in range(n_classes):
        result[(covered.sums(class_of == at) == covered.size) & (covered.size > 0)] = at
    return result
