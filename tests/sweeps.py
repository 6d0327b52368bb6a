"""What tests of sweeps share."""

from __future__ import annotations

from sfumato.pipeline import Case

SECRET = "leprosy"


class Stop(BaseException):
    """Stands for Ctrl-C."""


def counted(monkeypatch, stop_after=None):
    """Count the combinations that are run, and stop after so many."""
    done = []
    original = Case.make

    def run(*args, **options):
        if stop_after is not None and len(done) == stop_after:
            raise Stop
        done.append(1)
        return original(*args, **options)

    monkeypatch.setattr(Case, "make", run)
    return done
