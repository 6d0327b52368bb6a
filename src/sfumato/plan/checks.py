"""A plan as a whole: what does not go together, and what deserves a second look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.anonymizers import ANONYMIZERS, choosing
from sfumato.data.schema import Role, Schema
from sfumato.errors import Problem, did_you_mean
from sfumato.models import PRIVACY_MODELS
from sfumato.models.base import Need, PrivacyModel, columns_named
from sfumato.plan.members import requirable
from sfumato.plan.values import Plan

# Roles that promise protection which only a requirement on the column can give: without one, nothing may be published.
NEED_A_REQUIREMENT = (Role.QUASI_SENSITIVE, Role.SENSITIVE_QUASI_IDENTIFIER, Role.ITEMS)
# What a plan of numbered people asks, and what it may ask instead.
_PEOPLE = ('[release] persons = "numbered" keeps all rows of a person', "or put rows together: [gather].")


def unsearchable(plan: Plan) -> Iterator[Problem]:
    """Yield why no release can be made by the plan, though one of another tool can be judged by it."""
    for position, model in enumerate(plan.policy, start=1):
        yield from (problem.within(f"require[{position}]") for problem in model.unsearchable(plan.policy))
    yield from _figures(plan)
    yield from _unable(plan)
    yield from choosing.problems(plan.policy, plan.steps(), plan.chosen)


def problems_of(plan: Plan) -> Iterator[Problem]:
    """Yield what is wrong between columns, requirements and knowledge, whatever the plan is used for."""
    schema = plan.schema
    if schema.columns and not linkable(schema) and needs_quasi_identifiers(plan):
        yield Problem(
            "columns", 'no column has the role "quasi-identifier": there is nothing that people could be linked by.'
        )
    weights = [schema.columns[name].weight for name in schema.named(Role.QUASI_IDENTIFIER)]
    if weights and not any(weights) and not _leaves_open(schema):
        yield Problem("columns", "every quasi-identifier has weight = 0: no loss would count. Leave one above 0.")
    for position, model in enumerate(plan.policy, start=1):
        found = (*wrongly_named(type(model), vars(model), schema), *model.problems(schema, plan.policy))
        yield from (problem.within(f"require[{position}]") for problem in found)
    if plan.knowledge is not None and plan.knowledge.hierarchy is None:
        for model in plan.policy:
            if Need.KNOWLEDGE in model.needs and getattr(model, "distance", None) == "hierarchical":
                yield Problem(
                    "knowledge.hierarchy",
                    f"requirement {model.name} goes by a hierarchy of labels. Name one: [knowledge] hierarchy.",
                )
    if plan.knowledge is None and any(Need.KNOWLEDGE in model.needs for model in plan.policy):
        yield Problem(
            "knowledge",
            "it judges quasi-sensitive columns, which needs public knowledge: [knowledge] path, label, terms.",
        )
    for key, name, what, reason in (
        ("weight", plan.weight, "rows are to be weighted by", "analysts need it"),
        ("household", plan.household, "people live together by", "without it, nobody can tell who does"),
    ):
        spec = schema.spec(name) if name is not None else None
        if name is not None and (spec is None or spec.role is not Role.OTHER):
            why = "is not a column of the plan" if spec is None else f"has the role {spec.role.value}"
            yield Problem(f"source.{key}", f"{what} {name!r}, which {why}. Give it the role other: {reason}.")
    yield from _people(plan)
    judged = plan.policy.judged_columns
    for role in NEED_A_REQUIREMENT:
        for name in schema.named(role):
            if name not in judged:
                able = ", ".join(map(repr, _judging(role)))
                yield Problem(
                    f"columns.{name}.role",
                    f"column {name!r} has the role {role.value}, but no requirement protects it. "
                    f"Models for this role: {able}.",
                )


def _judging(role: Role) -> list[str]:
    """Return the models that name columns of a role."""
    return [name for name, member in requirable().items() if member.judges is role]


def _leaves_open(schema: Schema) -> bool:
    """Whether columns that are not named alone may be quasi-identifiers."""
    return Role.QUASI_IDENTIFIER in {schema.rest, *(pattern.role for pattern in schema.patterns)}


def linkable(schema: Schema) -> bool:
    """Whether a column is, or may be, a quasi-identifier."""
    return bool(schema.named(Role.QUASI_IDENTIFIER)) or _leaves_open(schema)


def needs_quasi_identifiers(plan: Plan) -> bool:
    """Whether a requirement on classes judges something else than sensitive columns, for which one class may do."""
    asked = [step.policy for step in plan.steps() if step.anonymizer.phase.forms_groups]
    return any(
        not model.judged_columns or model.judged_role is not Role.SENSITIVE for policy in asked for model in policy
    )


def _figures(plan: Plan) -> Iterator[Problem]:
    """Yield why classes cannot show figures of numbers, where a plan asks for them."""
    if plan.release.shows == "range":
        return
    asked = f'shows = "{plan.release.shows}" was asked for, but'
    if not any(step.anonymizer.shows_figures for step in plan.steps()):
        able = ", ".join(name for name, anonymizer in ANONYMIZERS.items() if anonymizer.shows_figures)
        yield Problem("release.shows", f"{asked} only classes of {able} show it. Leave it out, or name one of these.")
    for model in plan.policy:
        if Need.POPULATION in model.needs:
            yield Problem(
                "release.shows", f"{asked} {model.name} looks up ranges in a population. Leave one of them out."
            )


def _unable(plan: Plan) -> Iterator[Problem]:
    """Yield which anonymizers cannot keep all rows of a person."""
    if plan.schema.person is None:
        return
    asked, instead = _PEOPLE
    for step in plan.steps():
        if not step.anonymizer.covers_rows and all(model.counts_people for model in step.policy):
            able = ", ".join(name for name, each in ANONYMIZERS.items() if each.covers_rows)
            yield Problem("release.persons", f"{asked}, which {step.anonymizer.name} cannot. Use {able}, {instead}")
    if plan.release.shows != "range":
        yield Problem("release.shows", f"{asked}, of whom no figures are shown. Leave it out, {instead}")


def _people(plan: Plan) -> Iterator[Problem]:
    """Yield what cannot be done for people of whom all rows stay."""
    if plan.schema.person is None:
        return
    asked, instead = _PEOPLE
    for position, model in enumerate(plan.policy, start=1):
        if not model.counts_people:
            able = ", ".join(name for name, each in PRIVACY_MODELS.items() if each.counts_people)
            yield Problem(
                f"require[{position}].model",
                f"{asked}, but {model.name} counts rows: who has many hides among their own. Ask for {able}, {instead}",
            )
    for spec in plan.schema:
        if spec.holds_sets and spec.role is not Role.OTHER:
            yield Problem(f"columns.{spec.name}", f"{asked}, but {spec.name!r} holds sets. Make it other, {instead}")


def wrongly_named(make: type[PrivacyModel], values: Mapping[str, Any], schema: Schema) -> Iterator[Problem]:
    """Yield columns that a requirement names and that the plan does not have, or not with the role that it needs."""
    for name, place in columns_named(make, values).items():
        spec = schema.spec(name)
        if spec is None:
            near = did_you_mean(name, schema.columns)
            text = f"requirement {make.name} names the column {name!r}, which the plan does not declare.{near}"
            yield Problem(f".{place}", text)
        elif spec.role is not make.judged_role:
            able = ", ".join(map(repr, _judging(spec.role)))
            yield Problem(
                f".{place}",
                f"requirement {make.name} names the column {name!r}, whose role is {spec.role.value}. "
                f"It must be {make.judged_role.value}.{f' Models for {spec.role.value}: {able}.' if able else ''}",
            )


def warnings_of(plan: Plan) -> Iterator[str]:
    """Yield what is allowed but deserves a second look."""
    schema = plan.schema
    if plan.questions:
        yield (
            f"The plan is a draft: {len(plan.questions)} question(s) at its top are not answered. "
            "Answer each in the plan, then delete it there."
        )
    for model in plan.policy:
        yield from model.warnings()
    judged = plan.policy.judged_columns
    bare = [name for name in schema.named(Role.SENSITIVE) if name not in judged]
    if bare:
        able = ", ".join(_judging(Role.SENSITIVE))
        yield (
            f"No requirement judges the sensitive column(s) {', '.join(map(repr, bare))}: whoever is linked to a class "
            f"of equal values learns them. Add one that does: {able}."
        )
    if schema.columns and not linkable(schema) and schema.named(Role.SENSITIVE):
        yield (
            "No column is a quasi-identifier: all rows form one class, and sensitive values are published as they are. "
            "Give the role quasi-identifier to columns that others may know about a person."
        )
    open_ended = [name for name in schema.named(Role.SENSITIVE_QUASI_IDENTIFIER) if schema.columns[name].domain is None]
    if open_ended:
        yield (
            f"The domain of {', '.join(map(repr, open_ended))} is taken from the data: the release tells which values "
            "occur. Declare domain = [...] from a public code book."
        )
    if not plan.release.shuffle:
        yield "Rows keep their order ([release] shuffle = false): the position of a row may tell who it is."
    if schema.rest is Role.OTHER:
        yield 'Columns that the plan does not name are published as they are ([columns."*"] role = "other").'
    chosen = {step.anonymizer.name for step in plan.steps()}
    for name in plan.options:
        if name not in chosen:
            yield f"[anonymizers.{name}] is set, but {' and '.join(sorted(chosen))} does the work."
