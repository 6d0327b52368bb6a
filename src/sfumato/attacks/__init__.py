"""What an intruder gets from the original, and from a release: the list of attacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sfumato.attacks.base import FACTOR as FACTOR
from sfumato.attacks.base import THRESHOLD as THRESHOLD
from sfumato.attacks.base import WIDTH as WIDTH
from sfumato.attacks.base import Asked as Asked
from sfumato.attacks.base import Attack as Attack
from sfumato.attacks.base import Exposure as Exposure
from sfumato.attacks.base import Finding as Finding
from sfumato.attacks.base import expose as expose
from sfumato.attacks.class_inference import ClassInference as ClassInference
from sfumato.attacks.class_items import ClassItems as ClassItems
from sfumato.attacks.disclosure import Disclosure as Disclosure
from sfumato.attacks.few_columns import FewColumns as FewColumns
from sfumato.attacks.household_linking import HouseholdLinking as HouseholdLinking
from sfumato.attacks.item_linking import ItemLinking as ItemLinking
from sfumato.attacks.knowledge_linking import KnowledgeLinking as KnowledgeLinking
from sfumato.attacks.linking import Linking as Linking
from sfumato.attacks.minimality import Minimality as Minimality
from sfumato.attacks.partial_matching import PartialMatching as PartialMatching
from sfumato.attacks.plain_sight import PlainSight as PlainSight
from sfumato.attacks.printed_figures import PrintedFigures as PrintedFigures
from sfumato.attacks.proximity import Proximity as Proximity
from sfumato.attacks.random_sets import ClassAndCell as ClassAndCell
from sfumato.attacks.random_sets import Intersection as Intersection
from sfumato.attacks.random_sets import SecondRelease as SecondRelease
from sfumato.attacks.random_sets import SetInference as SetInference
from sfumato.attacks.rule_inference import RuleInference as RuleInference
from sfumato.attacks.sample_linking import SampleLinking as SampleLinking
from sfumato.attacks.singling_out import SinglingOut as SinglingOut
from sfumato.attacks.term_minimality import TermMinimality as TermMinimality
from sfumato.data.dataset import Dataset
from sfumato.data.release import Release
from sfumato.data.sampling import UNKNOWN, Sampling
from sfumato.models.base import PrivacyModel, describe
from sfumato.progress import SILENT, Progress

ATTACKS: dict[str, type[Attack]] = {
    attack.name: attack
    for attack in (
        PlainSight,
        PrintedFigures,
        Linking,
        FewColumns,
        SampleLinking,
        HouseholdLinking,
        SinglingOut,
        ClassInference,
        Proximity,
        Minimality,
        KnowledgeLinking,
        PartialMatching,
        TermMinimality,
        Disclosure,
        ItemLinking,
        RuleInference,
        ClassItems,
        SetInference,
        ClassAndCell,
        Intersection,
        SecondRelease,
    )
}


def attack_all(
    release: Release,
    original: Release | None = None,
    *,
    threshold: float = THRESHOLD,
    factor: float = FACTOR,
    width: float = WIDTH,
    population: Dataset | None = None,
    sampling: Sampling = UNKNOWN,
    required: Iterable[PrivacyModel] = (),
    on_demand: bool = True,
    progress: Progress = SILENT,
) -> tuple[Exposure, ...]:
    """Run every attack that applies to a release, on it and on the original where that is at hand.

    `population` is a larger table with the same quasi-identifiers, which a journalist would search, `sampling`
    what is known of the people outside the table. What was `required`
    everybody is taken to know, also of a table that comes without a description. Without `on_demand`, attacks that
    suppose more than a reader of one release has, or less than another attack, are left out.
    """
    said = {"models": [describe(model) for model in required], **release.description}
    release = replace(release, description=said)
    asked = Asked(
        threshold=threshold,
        factor=factor,
        width=width,
        population=population,
        sampling=sampling,
        original=original,
    )
    members = [member for member in ATTACKS.values() if on_demand or not member.on_demand]
    attacks = [found for member in members for found in _suited(member, release, asked)]
    stage = progress.stage("attack", 3 * len(attacks))  # the original, the release, a guess
    found = [expose(attack, here, before, stage.advance) for attack, here, before in attacks]
    stage.done()
    lacking = [(member.name, lacks) for member in members if (lacks := member.lacks(release, asked))]
    notes = tuple(f"{name} was not tried: it takes {lacks}, which is not at hand." for name, lacks in lacking)
    return tuple(replace(exposure, notes=notes) for exposure in found) if notes else tuple(found)


def _suited(member: type[Attack], release: Release, asked: Asked) -> Iterator[tuple[Attack, Release, Release | None]]:
    """Yield attacks as they apply, each with the tables that it is tried on: single rows only where it has to be."""
    counted = list(member.suited_to(release, asked))
    yield from ((attack, release, asked.original) for attack in counted)
    if release.sample is None:
        return
    before = asked.original.sample if asked.original is not None else None
    said = {**release.description, **release.sample.description}
    rows = replace(release.sample, description=said, public=release.public)
    before = replace(before, public=release.public) if before is not None else None
    titles = {attack.title for attack in counted}
    for attack in member.suited_to(rows, replace(asked, original=before)):
        if attack.title not in titles:
            yield attack, rows, before
