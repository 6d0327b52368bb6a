"""The trie of classes: whoever follows their labels finds them, also after it was full and all went in anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.kernels.classes.store import (
    BELOW,
    BESIDE,
    CLASSES,
    FEWEST,
    LIVING,
    NEXT,
    NODES,
    ROWS,
    STEP,
    make_store,
    settle,
    unsettle,
)

LOSS = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0]


class Trees(NamedTuple):
    loss: NDArray[np.float64]


def found_in(store, node=0, labels=()):
    """Return labels and fewest rows of each class that lies below a node, by walking the trie."""
    q = store.label.shape[1]
    below = store.trie[node, BELOW]
    if len(labels) == q:
        while below >= 0:
            yield int(below), labels
            below = store.group[below, NEXT]
        return
    while below >= 0:
        inside = list(found_in(store, below, (*labels, int(store.trie[below, STEP]))))
        assert store.trie[below, LIVING] == len(inside)
        if inside:
            assert store.trie[below, FEWEST] <= min(store.group[c, ROWS] for c, _ in inside)
            rest = min(sum(LOSS[label] for label in store.label[c, len(labels) + 1 :]) for c, _ in inside)
            assert store.rest[below] <= rest
        yield from inside
        below = store.trie[below, BESIDE]


@pytest.mark.parametrize("kernels", [(settle, unsettle), (settle.py_func, unsettle.py_func)], ids=["compiled", "plain"])
@pytest.mark.parametrize("seed", range(4))
def test_classes_are_found_under_their_labels_also_after_the_trie_was_full(kernels, seed):
    enter, leave = kernels
    rng, classes, q = np.random.default_rng(seed), 8, 3
    roomy = make_store(classes, classes, 0, 1, 1, q)
    store = roomy._replace(trie=roomy.trie[: classes * q + 3].copy())  # so it is full every few classes
    trees, here, times_full = Trees(np.array(LOSS)), {}, 0
    store.counter[CLASSES] = classes
    for _ in range(150):
        c = int(rng.integers(classes))
        if c in here:
            leave(store.trie, store.group, c)
            del here[c]
        else:
            store.label[c] = rng.integers(len(LOSS), size=q)
            store.group[c, ROWS] = rng.integers(1, 9)
            nodes = store.counter[NODES]
            enter(trees, store, c)
            times_full += store.counter[NODES] < nodes
            here[c] = tuple(store.label[c].tolist())
            assert store.loss[c] == sum(LOSS[label] for label in here[c])
        assert dict(found_in(store)) == here
        assert store.trie[0, LIVING] == len(here)
    assert times_full > 2
