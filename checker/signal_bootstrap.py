"""Install signal handling before slow imports, so that a signal during them ends the process cleanly."""

from __future__ import annotations

from zabspec import signals

__all__ = ["BEFORE"]

BEFORE = signals.guard()
