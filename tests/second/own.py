"""The protocols that come with zabcheck (section 18)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PATHS: dict[str, Path] = {}
SOURCES: dict[str, Any] = {}


def build(request: dict[str, Any]) -> Any:
    """Return the model of a protocol without `declare`."""
    raise NotImplementedError
