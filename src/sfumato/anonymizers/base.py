"""The contract of anonymizers: coded data and requirements in, a decision out."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum, IntEnum
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.data.dataset import CodedSets, Dataset
from sfumato.data.keystream import Keys, Stretch, seeded_keys, system_keys
from sfumato.data.knowledge import NOTHING_PUBLIC, PublicInputs
from sfumato.data.recoding import Labelled, Recoding
from sfumato.data.schema import Kind, Role, Schema
from sfumato.errors import Problem, Stopped
from sfumato.models.base import Need, Policy, PrivacyModel
from sfumato.parameters import check_parameters
from sfumato.progress import SILENT, Progress, Stage

Job = TypeVar("Job")


def _never() -> bool:
    return False


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
    # Whether somebody wants the work to end: a web page, a limit of time, a cluster. Asked at every checkpoint, by any
    # thread. Ctrl-C needs none: it interrupts the main thread, which takes its threads along (`side_by_side`).
    stop: Callable[[], bool] = _never

    @property
    def keys(self) -> Keys:
        """Where the keys of whatever must not be foreseen come from."""
        return seeded_keys(self.rng) if self.seeded else system_keys

    def checkpoint(self) -> None:
        """Raise Stopped if the work shall end. Called between rounds that take a while, by threads as well."""
        if self.stop():
            raise Stopped(
                "The work was asked to end before it was done.\nNothing is published. Begin again to get a release."
            )

    def stage(self, name: str, total: float | None = None) -> Stage:
        """Begin a piece of work that somebody may watch; each time that it goes on is a checkpoint."""
        return _Stage(self.progress.stage(name, total), self)


@dataclass(frozen=True)
class _Stage:
    watched: Stage
    workplace: Workplace

    def advance(self, steps: float = 1) -> None:
        self.watched.advance(steps)
        self.workplace.checkpoint()

    def done(self) -> None:
        self.watched.done()


class Deadline:
    """The end of the time that a search may take. Who asks between two steps can end with what is safe by then."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self.noticed = False  # whether somebody asked when it was over

    def over(self) -> bool:
        """Whether there is no time left."""
        self.noticed = self.noticed or time.monotonic() >= self._end
        return self.noticed


def side_by_side(work: Callable[[Job, Workplace], None], jobs: Sequence[Job], workplace: Workplace) -> None:
    """Do all jobs on the threads of a workplace. When one fails, or the wait for them ends early, all others stop.

    Each gets a workplace whose checkpoints raise then. No thread is left behind.
    """
    if workplace.threads <= 1:
        for job in jobs:
            workplace.checkpoint()
            work(job, workplace)
        return
    waiting = deque(jobs)
    failed: list[BaseException] = []
    ended = threading.Event()
    place = replace(workplace, stop=lambda: ended.is_set() or workplace.stop())

    def work_on() -> None:
        try:
            while waiting:
                place.checkpoint()
                try:
                    job = waiting.popleft()
                except IndexError:  # somebody else took the last one
                    return
                work(job, place)
        except BaseException as error:
            failed.append(error)
            ended.set()

    threads = [threading.Thread(target=work_on) for _ in range(min(workplace.threads, len(jobs)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:  # after an interrupt as well; a thread that was being started just then ends at its first checkpoint
        ended.set()
        for thread in threads:
            if thread.is_alive():
                thread.join()
    if failed:
        raise failed[0]


class Phase(IntEnum):
    """What an anonymizer decides. Later phases build on earlier ones, so the order is the order of work."""

    CLASSES = 1  # which people share quasi-identifiers
    MASKS = 2  # which sensitive values are shown as coarser ones
    TERMS = 3  # which quasi-sensitive terms are withheld
    ITEMS = 4  # which items are withheld
    CELLS = 5  # which sets stand for single values

    @property
    def words(self) -> str:
        """What is done in it, for somebody who waits."""
        return {
            Phase.CLASSES: "Making people who look alike share their values",
            Phase.MASKS: "Masking secrets that would give each other away",
            Phase.TERMS: "Withholding terms that would give a secret away",
            Phase.ITEMS: "Withholding items that would give a secret away",
            Phase.CELLS: "Hiding single values among others, by chance",
        }[self]

    @property
    def forms_groups(self) -> bool:
        """Whether it is about groups of people with equal quasi-identifiers."""
        return self <= Phase.TERMS


class Divides(Enum):
    """How the work of an anonymizer divides among parts of a table, where one machine does not hold all of it."""

    ROWS = "rows"  # row by row, once it is decided what to do with each: from counts of the whole, and some rows
    ANYHOW = "anyhow"  # in any parts: what holds in each of them holds in all together
    CLASSES = "classes"  # class by class, each with those that it may have to be joined with
    REGIONS = "regions"  # by quasi-identifiers: rows that are far apart have nothing to do with one another
    NOT = "not"  # it needs to see everything at once


class Anonymizer(Protocol):
    """How a release is made. Members are frozen dataclasses that inherit from this; fields are the plan's options."""

    name: ClassVar[str]
    phase: ClassVar[Phase]
    aims_at: ClassVar[tuple[type[PrivacyModel], ...]]
    also_meets: ClassVar[tuple[type[PrivacyModel], ...]] = ()  # of an earlier phase, which then needs no step
    shows_figures: ClassVar[bool] = False  # whether classes may show the mean or median of numbers for their range
    shows_cells: ClassVar[str | None] = None  # what it publishes of single values that are hidden in sets, in words
    leaves_tree: ClassVar[bool] = False  # whether its cuts are kept, so that a later step can undo them
    splits_by_secrets: ClassVar[bool] = False  # whether it meets what is asked for who knows other secrets, too
    divides: ClassVar[Divides]
    covers_rows: ClassVar[bool] = False  # whether its labels can cover all rows of a person, where these stay
    reason: ClassVar[str | None] = None  # why it is taken when a plan names none, whatever else the plan is about
    shows_labels: ClassVar[str | None] = None  # what it publishes of quasi-identifiers, in words, whatever their kind

    def __post_init__(self) -> None:
        check_parameters(self)

    @classmethod
    def why(cls, schema: Schema, phases: Collection[Phase]) -> str | None:
        """Return why it is taken when a plan with work in these phases names none; None: only who names it gets it."""
        return cls.reason

    @classmethod
    def meets(cls, model: PrivacyModel) -> bool:
        """Whether it can meet a requirement, be it one of an earlier phase."""
        return isinstance(model, (*cls.aims_at, *cls.also_meets)) and cls._knows(model)

    @classmethod
    def aims(cls, model: PrivacyModel) -> bool:
        """Whether a requirement is its own business."""
        return isinstance(model, cls.aims_at) and cls._knows(model)

    @classmethod
    def _knows(cls, model: PrivacyModel) -> bool:
        return cls.splits_by_secrets or not getattr(model, "known", None)

    def problems(self, before: Sequence[Anonymizer]) -> Iterator[Problem]:
        """Yield what is wrong with it in a plan in which these come before it."""
        yield from ()

    def refuse_unfit(self, dataset: Dataset, policy: Policy, before: Sequence[Anonymizer] = ()) -> None:
        """Raise where the table is not such as it can work on, after these: who only checks a plan hears it, too."""

    def counts_with(self, policy: Policy) -> bool:
        """Whether it takes a dataset in which equal rows are held once, with weights."""
        return False

    def whole_only(self, policy: Policy) -> str | None:
        """Return why it has to see the whole table at once, to go on a sentence; None: regions of it can do apart.

        Such regions are boxes of quasi-identifiers, and how common values are in the whole table is known in each.
        """
        if self.divides is not Divides.REGIONS:
            return "what it does to one row depends on all others"
        if any(Need.POPULATION in model.needs for model in policy):
            return "people of a population are counted for all of it"
        if not self.counts_with(policy):
            return "it decides about single rows, not about distinct ones"
        if getattr(self, "drop_rows", 0):
            return "dropping rows changes what classes are compared with"
        return None

    def rows_only(self, policy: Policy) -> str | None:
        """Return why every row has to be looked at in one place, to go on a sentence; None: distinct ones will do."""
        if any(model.judged_role is Role.QUASI_SENSITIVE for model in policy):
            return "it looks at the terms of all rows at once"
        return None

    def facts_of_parts(self, parts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return what there is to say of work that was done in parts, from what there is to say of each."""
        return parts[0] if len(parts) == 1 else {"parts": len(parts)}

    def shows(self, kind: Kind | None, *, hierarchy: bool) -> str | None:
        """Return what it publishes of a quasi-identifier, in words; None: whatever it finds."""
        return self.shows_labels

    def crowding(self, dataset: Dataset, policy: Policy, workplace: Workplace) -> Crowding | None:
        """Return its say in how groups are cut before it gets them: of cuts that are nearly as good, the one whose
        worse side has the lower score is taken. None: any will do.
        """
        return None

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding that satisfies the policy, built on what earlier steps decided, or raise Unsatisfiable."""


class RowWork(Protocol):
    """What is done with each row, decided from counts of the whole table: any rows can be worked on by it.

    Members are frozen dataclasses that inherit from this.
    """

    facts: Mapping[str, Any]
    public: Mapping[str, Mapping[str, Any]]

    def on(self, before: Recoding) -> Recoding:
        """Return what steps before decided, with what is to be said about this one."""
        return replace(before, facts=self.facts, public={**before.public, **self.public})

    def draw(
        self, dataset: Dataset, keys: Keys, workplace: Workplace, stretch: Stretch | None = None
    ) -> Mapping[str, Labelled | CodedSets]:
        """Return the new columns of some rows: a stretch of a table, or all of it.

        Of `keys` so many are taken as the table asks for, whatever rows are here. So who gives the same keys once more
        gets the same for each row, in whatever stretch it is.
        """


class RowByRow(Anonymizer, Protocol):
    """An anonymizer whose work divides by rows."""

    divides: ClassVar[Divides] = Divides.ROWS

    def anonymize(self, dataset: Dataset, policy: Policy, before: Recoding, workplace: Workplace) -> Recoding:
        """Return a recoding with new cells in each named column; one that may be published as it is stays so."""
        decided = self.decide(dataset, policy, dataset, before, workplace)
        return decided.on(before).with_columns(decided.draw(dataset, workplace.keys, workplace))

    def decide(
        self, counts: Dataset, policy: Policy, some: Dataset, published: Recoding, workplace: Workplace
    ) -> RowWork:
        """Return what to do, or raise when it would not hide the named columns.

        counts: how common values are in the whole table; some: rows of it, with what is `published` of them.
        """


@dataclass(frozen=True, eq=False)
class ClassTree:
    """The classes that rows are in, and what they can be joined to. Sizes: n rows, t nodes; a class is a node."""

    node_of: NDArray[np.int64]  # (n,): -1 where a row takes no part
    parent: NDArray[np.int64]  # (t,): what a node is joined to, with all else below that; -1: nothing


@dataclass(frozen=True, eq=False)
class ClassesDone:
    """What became of some classes, given all of their rows. Sizes: n rows."""

    columns: Mapping[str, Labelled | CodedSets]  # of these rows
    node_of: NDArray[np.int64]  # (n,): the node that each ended in
    failed: NDArray[np.int64]  # nodes that rows ended in without being safe
    said: Any  # what there is to say about each node that rows ended in, as plain data


class ClassWork(Protocol):
    """What is done with each class, decided from counts of the whole table: plain data."""

    def classes(self, distinct: Dataset, before: Recoding) -> ClassTree:
        """Return the classes, given distinct rows and what steps before decided of them."""

    def solve(self, dataset: Dataset, tree: ClassTree, workplace: Workplace) -> ClassesDone:
        """Return what becomes of classes, given all of their rows; joined ones are solved from their original rows."""

    def joined(self, distinct: Dataset, before: Recoding, node_of: NDArray[np.int64]) -> Recoding:
        """Return what steps before decided, with labels of joined classes: node_of[row] is where each row ended, (n,).

        Columns that `solve` makes are not in it.
        """

    def facts(self, said: Sequence[Any], ended: NDArray[np.int64], joined: int) -> Mapping[str, Any]:
        """Return what there is to say in all: of the nodes that rows ended in, so many of which were joined to others.

        Raises Unsatisfiable where some could not be made safe, whatever they are joined to.
        """


class ByClass(Anonymizer, Protocol):
    """An anonymizer whose work divides by classes, unless `rows_only` says why not."""

    def by_class(self, distinct: Dataset, policy: Policy, workplace: Workplace) -> ClassWork:
        """Return what to do with each class; what it looks at besides single values is in `distinct.of_terms`.

        Raises what can be told to be out of reach.
        """


LABELS = "generalized to labels of its hierarchy"  # what most show of a quasi-identifier


def options_of(anonymizer: Anonymizer) -> dict[str, Any]:
    """Return an anonymizer's options and their values, as a plan would give them."""
    return {option.name: getattr(anonymizer, option.name) for option in fields(anonymizer)}  # type: ignore[arg-type]


def chosen_of(anonymizer: Anonymizer) -> dict[str, Any]:
    """Return those options whose value is not the default."""
    defaults = {option.name: option.default for option in fields(anonymizer)}  # type: ignore[arg-type]
    return {name: value for name, value in options_of(anonymizer).items() if value != defaults[name]}
