"""Write a result as JSON."""

from __future__ import annotations

from typing import Any

from checker.report.result import Result
from zabspec.deprecated import with_old_keys

__all__ = ["json_of"]


def json_of(result: Result) -> Any:
    """Return a result as JSON values, with deprecated keys."""
    return with_old_keys(result.kind, result.as_json())
