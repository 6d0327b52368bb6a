"""Made-up data for demonstrations, examples and tests."""

from sfumato.generators.hospital import hospital
from sfumato.generators.patients import add_demo, patients, write_demo

__all__ = ["add_demo", "hospital", "patients", "write_demo"]
