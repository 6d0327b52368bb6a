"""What only the holder can tell about masks, because it takes the original: for the private report.

Stronger readings than those that a release can be made for, and masks that hide nothing: a label is vacuous in a class
when all rows that carry it there have the same true value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.masking.search import Masked
from sfumato.data.dataset import Codes, distinct_codes
from sfumato.kernels.masks.regions import Distinct
from sfumato.kernels.masks.state import Secrets


def facts_of(
    masked: Masked, distinct: Distinct, names: Sequence[str], first: Sequence[Codes], secrets: Secrets
) -> dict[str, Any]:
    """Return what the report says about masks."""
    true = distinct.leaf_of[masked.flow_tuple]
    rows = masked.flow_rows
    columns: list[dict[str, Any]] = []
    all_masked = all_vacuous = 0
    worst = {"pool": 0.0, "true": 0.0}
    for i, name in enumerate(names):
        leaves = int(secrets.leaves[i])
        label = masked.flow_labels[:, i]
        hidden = label >= leaves
        pool = numbered(masked.flow_class, label)
        varied = _varied(pool, true[:, i])
        vacuous = int(rows[hidden & ~varied[pool]].sum())
        group = numbered(masked.flow_class, *(masked.flow_labels[:, j] for j in range(len(names)) if j != i))
        worst["true"] = max(worst["true"], _largest_share(group, true[:, i], rows.astype(np.float64)))
        worst["pool"] = max(worst["pool"], _largest_pooled(group, pool, true[:, i], rows))
        masks = int(rows[hidden].sum())
        columns.append({"name": name, "masked": masks, "vacuous": vacuous})
        all_masked += masks
        all_vacuous += vacuous
    return {
        "classes": len(masked.nodes),
        "masked_values": all_masked,
        "vacuous_masked_values": all_vacuous,
        "vacuous_share": all_vacuous / all_masked if all_masked else 0.0,
        "worst_posterior": worst,
        "columns": columns,
    }


def numbered(*keys: NDArray[Any]) -> NDArray[np.int64]:
    """Number the distinct combinations of keys."""
    columns = [(key.astype(np.int32), int(key.max(initial=0)) + 1) for key in keys]
    return distinct_codes(columns, keys[0].size).distinct_of.astype(np.int64)


def _varied(pool: NDArray[np.int64], leaf: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each pool whether it holds different leaves."""
    size = int(pool.max(initial=-1)) + 1
    least, most = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(least, pool, leaf)
    np.maximum.at(most, pool, leaf)
    return np.asarray(least < most)


def _largest_share(group: NDArray[np.int64], leaf: NDArray[np.int64], rows: NDArray[np.float64]) -> float:
    """Return the largest share that a leaf has of the rows of a group."""
    pair = numbered(group, leaf)
    in_pair = np.bincount(pair, weights=rows)
    group_of_pair = np.zeros(in_pair.size, dtype=np.int64)
    group_of_pair[pair] = group
    return float((in_pair / np.bincount(group, weights=rows)[group_of_pair]).max(initial=0.0))


def _largest_pooled(
    group: NDArray[np.int64], pool: NDArray[np.int64], leaf: NDArray[np.int64], rows: NDArray[np.int64]
) -> float:
    """Return the largest share of a leaf when each label stands for what carries it in the class, group by group."""
    # Rows of a group with a label, times the composition of the label's pool.
    part, in_part = _summed(numbered(group, pool), rows)
    group_of_part, pool_of_part = group[part], pool[part]
    piece, in_piece = _summed(numbered(pool, leaf), rows)
    order = np.argsort(pool[piece], kind="stable")
    piece, in_piece = piece[order], in_piece[order]
    pool_rows = np.bincount(pool, weights=rows)
    start = np.searchsorted(pool[piece], np.arange(pool_rows.size + 1))
    spread = np.diff(start)[pool_of_part]
    of = np.repeat(np.arange(part.size), spread)
    at = np.arange(of.size) - np.repeat(np.cumsum(spread) - spread, spread) + start[pool_of_part][of]
    amount = in_part[of] * in_piece[at] / pool_rows[pool_of_part][of]
    return _largest_share(group_of_part[of], leaf[piece[at]], amount)


def _summed(key: NDArray[np.int64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return for each key some place where it stands, and the rows of all its places."""
    total = np.bincount(key, weights=rows)
    place = np.zeros(total.size, dtype=np.int64)
    place[key] = np.arange(key.size)
    return place, np.asarray(total, dtype=np.float64)
