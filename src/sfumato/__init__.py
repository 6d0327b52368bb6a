"""Publish personal data safely when columns do not split cleanly into identifying and sensitive.

>>> import sfumato as sf
>>> sf.KAnonymity(k=5).name
'k-anonymity'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.api import Run as Run
    from sfumato.api import Sweep as Sweep
    from sfumato.api import anonymize as anonymize
    from sfumato.api import attack as attack
    from sfumato.api import audit as audit
    from sfumato.api import expect as expect
    from sfumato.api import measure as measure
    from sfumato.api import reconstruct as reconstruct
    from sfumato.api import run as run
    from sfumato.api import sweep as sweep
    from sfumato.data.hierarchy import Hierarchy as Hierarchy
    from sfumato.models import KAnonymity as KAnonymity
    from sfumato.models import LDiversity as LDiversity
    from sfumato.models import TCloseness as TCloseness
    from sfumato.plan import Plan as Plan

__version__ = "0.1.0"

# Where each name lives: loaded at first use, so that `import sfumato` and `sfumato --help` stay quick.
_HOME = {
    "Hierarchy": "sfumato.data.hierarchy",
    "KAnonymity": "sfumato.models",
    "LDiversity": "sfumato.models",
    "Plan": "sfumato.plan",
    "Run": "sfumato.api",
    "Sweep": "sfumato.api",
    "TCloseness": "sfumato.models",
    "anonymize": "sfumato.api",
    "attack": "sfumato.api",
    "audit": "sfumato.api",
    "expect": "sfumato.api",
    "measure": "sfumato.api",
    "reconstruct": "sfumato.api",
    "run": "sfumato.api",
    "sweep": "sfumato.api",
}
__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
