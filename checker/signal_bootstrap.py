"""Install signal handling before slow imports, so that a signal during them ends the process cleanly."""

from __future__ import annotations

from zabspec import signals

BEFORE = signals.guard()
