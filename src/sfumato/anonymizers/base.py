"""The contract of anonymizers: coded data and requirements in, a decision out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import Dataset
from sfumato.data.knowledge import NOTHING_PUBLIC, PublicInputs
from sfumato.data.recoding import Recoding
from sfumato.data.schema import Schema
from sfumato.errors import Problem
from sfumato.models.base import Policy, PrivacyModel
from sfumato.progress import SILENT, Progress

# The score of each group, given rows, group after group, and where each group starts: the lower the better.
Crowding: TypeAlias = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Workplace:
    """What an anonymizer may use besides its input."""

    rng: np.random.Generator = field(default_factory=np.random.default_rng)  # from the system's entropy unless seeded
    seeded: bool = False  # whether a run can be repeated: for tests only
    threads: int = 1
    progress: Progress = SILENT
    public: PublicInputs = NOTHING_PUBLIC  # what everybody knows: knowledge table and prior
    crowding: Crowding | None = None  # a later phase's say in cuts that are nearly as good


class Phase(IntEnum):
    """What an anonymizer decides. Later phases build on earlier ones, so the order is the order of work."""

    CLASSES = 1  # which people share quasi-identifiers
    MASKS = 2  # which sensitive values are shown as coarser ones
    TERMS = 3  # which quasi-sensitive terms are withheld
    ITEMS = 4  # which items are withheld
    CELLS = 5  # which sets stand for single values

    @property
    def forms_groups(self) -> bool:
        """Whether it is about groups of people with equal quasi-identifiers."""
        return self <= Phase.TERMS


class Anonymizer(Protocol):
    """How a release is made. Members are frozen dataclasses that inherit from this; fields are the plan's options."""

    name: ClassVar[str]
    phase: ClassVar[Phase]
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]]
    also_meets: ClassVar[tuple[type[PrivacyModel], ...]] = ()  # of an earlier phase, which then needs no step
    leaves_tree: ClassVar[bool] = False  # whether its cuts are kept, so that a later step can undo them

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return why it is taken when a plan with work in these phases names none; None: only who names it gets it."""
        return None

    def problems(self, before: Sequence[Anonymizer]) -> Iterator[Problem]:
        """Yield what is wrong with it in a plan in which these come before it."""
        yield from ()

    def crowding(self, dataset: Dataset, policy: Policy, workplace: Workplace) -> Crowding | None:
        """Return its say in how groups are cut before it gets them: of cuts that are nearly as good, the one whose
        worse side has the lower score is taken. None: any will do.
        """
        return None

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding that satisfies the policy, built on what earlier steps decided, or raise Unsatisfiable."""


def options_of(anonymizer: Anonymizer) -> dict[str, Any]:
    """Return an anonymizer's options and their values, as a plan would give them."""
    return {option.name: getattr(anonymizer, option.name) for option in fields(anonymizer)}  # type: ignore[arg-type]
