"""Spark sessions: start, failures, interrupts. What runs on Spark lies beside it.

Start with `session.py`. Spark is an extra: this folder imports it only when a session starts, so that a user without
Spark gets a sentence.
"""

from __future__ import annotations

from zabspec.errors import NoVerdict, RequestError


class NoSpark(RequestError):
    """There can be no session as things are (no Java, no pyspark, no such master): a sentence."""


class SparkFailed(NoVerdict):
    """A session was lost, or a job of it failed: a sentence. What had been finished stays."""
