"""The plan: what each column may reveal, and what must hold."""

from sfumato.plan.values import MeasureOptions, Plan, ReleaseOptions, is_plan

__all__ = ["MeasureOptions", "Plan", "ReleaseOptions", "is_plan"]
