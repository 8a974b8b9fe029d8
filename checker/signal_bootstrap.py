"""Imported by `checker.cli` before anything that takes time: a signal while the rest is loaded is as clean as later."""

from __future__ import annotations

from zabspec import signals

__all__ = ["BEFORE"]

BEFORE = signals.guard()
