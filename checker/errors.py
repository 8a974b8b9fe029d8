"""Exit codes, and the two ways in which a request has no answer."""

from __future__ import annotations

from zabspec.errors import NoVerdict, RequestError

__all__ = ["HELD", "NO_VERDICT", "VIOLATED", "WRONG", "NoVerdict", "RequestError"]

HELD, VIOLATED, WRONG, NO_VERDICT = 0, 1, 2, 3
