"""What audits will have to see at once, foreseen before anything is decided.

Most models judge class by class, and a release of any size in parts. Others look at all of its distinct rows together,
in the columns that they are about, and these must fit on the driver. How many there will be follows from the distinct
rows of the table: classes and withheld items make equal what was different, and seldom more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.anonymizers.base import Divides
from sfumato.anonymizers.choosing import Step
from sfumato.data.dataset import CodedColumn
from sfumato.data.release import members_of
from sfumato.engines.coding import Coded
from sfumato.engines.cutting import SAMPLED, mixed
from sfumato.engines.local import LOCAL_SERVES
from sfumato.engines.regions import Cluster
from sfumato.engines.seeing import SPARE, columns_at_once, looks_at_all
from sfumato.engines.tasks import Part, coded_part
from sfumato.errors import DataError

_SETS_AT_MOST = 40  # of a column: two to the power of so many is beyond any table


def refuse_what_no_driver_could_judge(
    cluster: Cluster, room: Path, coded: Coded, steps: Sequence[Step], most: int
) -> None:
    """Raise where models look at more distinct rows at once than a driver takes, by all that is known before work."""
    schema, template = coded.template.schema, coded.template
    models = [model for step in steps for model in step.policy if looks_at_all(model, schema)]
    if not models or coded.rows <= SPARE * most:
        return
    wanted = columns_at_once(models, schema)
    names = tuple(name for name in template.order if wanted is None or name in wanted)
    drawn = {
        name
        for step in steps
        if step.anonymizer.divides is Divides.ROWS
        for model in step.policy
        for name in model.judged_columns
    }
    found = coded.rows
    if all(name in template.columns for name in names):  # of columns that are carried along nothing was counted
        found = distinct_rows_of(cluster, room, coded.parts, [name for name in names if name not in drawn])
        for name in drawn.intersection(names):
            spec = schema.spec(name)
            values = len(spec.domain) if spec is not None and spec.domain is not None else 0
            found *= 2 ** min(max(values, len(template.columns[name].labels)), _SETS_AT_MOST)
    if set(names) <= {column.name for column in template.quasi_identifiers}:
        found = min(found, coded.rows // max(step.class_size for step in steps))
    found = min(found, coded.rows)
    if found > (SPARE * most if drawn else most):
        who = ", ".join(sorted({model.name for model in models}))
        raise DataError(
            f"All distinct rows of a release are looked at together by {who}, on the driver, which takes {most:,}; of "
            f"{', '.join(names)} there may be about {found:,}.\n"
            "Raise --distinct-on-driver if the driver has the memory (about 1 kB each), declare coarser "
            f"values (bins), or {LOCAL_SERVES}."
        )


def distinct_rows_of(cluster: Cluster, room: Path, parts: Sequence[Part], names: Sequence[str]) -> int:
    """Return how many distinct rows a table in parts has in some columns, by estimate where they are many."""
    if not names:
        return 1
    smallest = np.empty(0, dtype=np.uint64)
    for found in cluster.each(partial(smallest_numbers, room, names), parts, "foresee distinct rows"):
        smallest = np.unique(np.concatenate([smallest, found]))[:SAMPLED]
    if smallest.size < SAMPLED:
        return smallest.size
    return round((SAMPLED - 1) / (float(smallest[-1]) / 2.0**64))


def smallest_numbers(room: Path, names: Sequence[str], part: Part) -> NDArray[np.uint64]:
    """Return the smallest numbers that the rows of a part have: equal rows have the same, wherever they are."""
    dataset = coded_part(room, part.name)
    numbers = []
    for name in names:
        column = dataset.columns[name]
        if isinstance(column, CodedColumn):
            numbers.append(column.codes.astype(np.uint64))
            continue
        start, items = members_of(column, 0, part.rows)
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed(items[:, np.newaxis] + 1))])
        numbers.append(sums[start[1:]] - sums[start[:-1]])
    return np.unique(mixed(np.stack(numbers, axis=1)))[:SAMPLED]
