"""A replay for people and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traces import Trace
from traces.explain.folding import folded
from traces.replay.replay import Replayed, happened

__all__ = ["as_json", "as_text"]


def as_text(result: Replayed) -> str:
    """Return a line for each step, the verdict and the digest."""
    width = len(str(len(result.steps)))
    lines = [folded(happened(step), f"{step.number:>{width}}  ") for step in result.steps]
    return "\n".join(
        [*lines, "", folded(result.sentence, others="  "), f"canonical dump at the end: sha256 {result.sha256}"]
    )


def as_json(path: Path, trace: Trace, result: Replayed, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the replay as JSON values."""
    return {
        "format": 1,
        "trace": str(path),
        "request": request,
        "configuration": trace.configuration.as_dict(),
        "replayed": True,
        "sentence": result.sentence,
        "property": result.property_name or None,
        "breaks_at": len(result.steps) if result.property_name else None,
        "lasso": None if result.lasso is None else result.lasso.as_dict(),
        "steps": [happened(step) for step in result.steps],
        "sha256": result.sha256,
    }
