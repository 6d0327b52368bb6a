"""Publish personal data safely when columns do not split cleanly into identifying and sensitive.

>>> import sfumato as sf
>>> sf.KAnonymity(k=5).name
'k-anonymity'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.api import Published as Published
    from sfumato.api import Run as Run
    from sfumato.api import anonymize as anonymize
    from sfumato.api import attack as attack
    from sfumato.api import audit as audit
    from sfumato.api import complete as complete
    from sfumato.api import describe as describe
    from sfumato.api import draft as draft
    from sfumato.api import expect as expect
    from sfumato.api import load as load
    from sfumato.api import measure as measure
    from sfumato.api import reconstruct as reconstruct
    from sfumato.api import run as run
    from sfumato.api import sweep as sweep
    from sfumato.attacks.base import Exposure as Exposure
    from sfumato.attacks.base import Finding as Finding
    from sfumato.data.hierarchy import Hierarchy as Hierarchy
    from sfumato.drafting import Draft as Draft
    from sfumato.errors import Conflict as Conflict
    from sfumato.errors import DataError as DataError
    from sfumato.errors import EditError as EditError
    from sfumato.errors import HierarchyError as HierarchyError
    from sfumato.errors import InputError as InputError
    from sfumato.errors import OutputError as OutputError
    from sfumato.errors import PlanError as PlanError
    from sfumato.errors import PolicyError as PolicyError
    from sfumato.errors import Problem as Problem
    from sfumato.errors import SfumatoError as SfumatoError
    from sfumato.errors import SfumatoWarning as SfumatoWarning
    from sfumato.errors import Stopped as Stopped
    from sfumato.errors import Unsatisfiable as Unsatisfiable
    from sfumato.estimators.base import CrossTable as CrossTable
    from sfumato.estimators.base import Expectation as Expectation
    from sfumato.metrics.base import Measurement as Measurement
    from sfumato.models import AlphaDiversity as AlphaDiversity
    from sfumato.models import BetaLikeness as BetaLikeness
    from sfumato.models import DeltaDisclosure as DeltaDisclosure
    from sfumato.models import DeltaPresence as DeltaPresence
    from sfumato.models import HkpCoherence as HkpCoherence
    from sfumato.models import KAnonymity as KAnonymity
    from sfumato.models import KmAnonymity as KmAnonymity
    from sfumato.models import KMap as KMap
    from sfumato.models import LDiversity as LDiversity
    from sfumato.models import LocalDifferentialPrivacy as LocalDifferentialPrivacy
    from sfumato.models import MultiDiversity as MultiDiversity
    from sfumato.models import Policy as Policy
    from sfumato.models import PrivacyModel as PrivacyModel
    from sfumato.models import QSCloseness as QSCloseness
    from sfumato.models import QSDiversity as QSDiversity
    from sfumato.models import RhoUncertainty as RhoUncertainty
    from sfumato.models import SensitiveQidCloseness as SensitiveQidCloseness
    from sfumato.models import SensitiveQidDiversity as SensitiveQidDiversity
    from sfumato.models import TCloseness as TCloseness
    from sfumato.models import Verdict as Verdict
    from sfumato.plan import Plan as Plan
    from sfumato.progress import Progress as Progress
    from sfumato.progress import Stage as Stage
    from sfumato.receiving.dictionary import Dictionary as Dictionary
    from sfumato.receiving.loading import Loaded as Loaded
    from sfumato.report.explored import Sweep as Sweep

__version__ = "0.2.0"

# Where each name lives: loaded at first use, so that `import sfumato` and `sfumato --help` stay quick.
_OFFERED = {
    "sfumato.api": (
        "Published",
        "Run",
        "anonymize",
        "attack",
        "audit",
        "complete",
        "describe",
        "draft",
        "expect",
        "load",
        "measure",
        "reconstruct",
        "run",
        "sweep",
    ),
    "sfumato.attacks.base": ("Exposure", "Finding"),
    "sfumato.data.hierarchy": ("Hierarchy",),
    "sfumato.drafting": ("Draft",),
    "sfumato.errors": (
        "Conflict",
        "DataError",
        "EditError",
        "HierarchyError",
        "InputError",
        "OutputError",
        "PlanError",
        "PolicyError",
        "Problem",
        "SfumatoError",
        "SfumatoWarning",
        "Stopped",
        "Unsatisfiable",
    ),
    "sfumato.estimators.base": ("CrossTable", "Expectation"),
    "sfumato.metrics.base": ("Measurement",),
    "sfumato.models": (
        "AlphaDiversity",
        "BetaLikeness",
        "DeltaDisclosure",
        "DeltaPresence",
        "HkpCoherence",
        "KAnonymity",
        "KMap",
        "KmAnonymity",
        "LDiversity",
        "LocalDifferentialPrivacy",
        "MultiDiversity",
        "Policy",
        "PrivacyModel",
        "QSCloseness",
        "QSDiversity",
        "RhoUncertainty",
        "SensitiveQidCloseness",
        "SensitiveQidDiversity",
        "TCloseness",
        "Verdict",
    ),
    "sfumato.plan": ("Plan",),
    "sfumato.progress": ("Progress", "Stage"),
    "sfumato.receiving.dictionary": ("Dictionary",),
    "sfumato.receiving.loading": ("Loaded",),
    "sfumato.report.explored": ("Sweep",),
}
_HOME = {name: home for home, names in _OFFERED.items() for name in names}
__all__ = [*_HOME, "__version__"]


if not TYPE_CHECKING:  # a type checker would take any name for offered

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            return getattr(importlib.import_module(_HOME[name]), name)
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
