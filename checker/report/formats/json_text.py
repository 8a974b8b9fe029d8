"""A result for a machine: JSON on stdout."""

from __future__ import annotations

import json

from checker.ending import say
from checker.report.result import Result
from zabspec.deprecated import with_old_keys

__all__ = ["show"]


def show(result: Result) -> int:
    """Print a result on stdout; return the exit code."""
    return say(json.dumps(with_old_keys(result.kind, result.as_json()), indent=result.indent), result.exit_code)
