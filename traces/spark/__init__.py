"""What runs on Spark: its session here, sweeps and tables beside it.

Spark is an extra. Nothing outside this folder imports it, and here it is imported when a session is
asked for, so that whoever has no Spark is told so in a sentence.
"""

from __future__ import annotations

__all__ = ["NoSpark", "SparkFailed"]


class NoSpark(Exception):
    """There can be no session as things are (no Java, no pyspark, no such master): a sentence."""


class SparkFailed(Exception):
    """A session was lost, or a job of it failed: a sentence. What had been finished stays."""
