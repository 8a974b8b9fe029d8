# One of zabcheck's five packages.
"""Recorded runs: as a file, a text, a picture, a replay; event tables of runs; logs of ZooKeeper servers.

Start with `record/trace.py`, what a trace is, and `record/runner.py`, which makes one. Nothing is imported until it is
used: an exploration that finds no violation draws nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traces.explain.effects import changes
    from traces.explain.export import EXPORTS, to_itf, to_json
    from traces.explain.names import headline
    from traces.explain.text import to_text
    from traces.explain.why import why
    from traces.record.file import read_trace, write_trace
    from traces.record.runner import Runner, build_trace
    from traces.record.trace import Step, Trace, TraceError
    from traces.record.values import state_json
    from traces.record.verification import verify

__all__ = [
    "EXPORTS", "Runner", "Step", "Trace", "TraceError", "build_trace", "changes", "headline", "read_trace",
    "state_json", "to_itf", "to_json", "to_text", "verify", "why", "write_trace",
]  # fmt: skip

# The names of this package, each with the module that has it.
PLACES = {
    "changes": "traces.explain.effects",
    "EXPORTS": "traces.explain.export",
    "to_itf": "traces.explain.export",
    "to_json": "traces.explain.export",
    "headline": "traces.explain.names",
    "to_text": "traces.explain.text",
    "why": "traces.explain.why",
    "read_trace": "traces.record.file",
    "write_trace": "traces.record.file",
    "Runner": "traces.record.runner",
    "build_trace": "traces.record.runner",
    "Step": "traces.record.trace",
    "Trace": "traces.record.trace",
    "TraceError": "traces.record.trace",
    "state_json": "traces.record.values",
    "verify": "traces.record.verification",
}


def __getattr__(name: str) -> Any:
    """Import a name of this package from the module that defines it.

    Raises:
        AttributeError: there is none.
    """
    if name not in PLACES:
        raise AttributeError(f"module 'traces' has no attribute {name!r}")
    value = getattr(import_module(PLACES[name]), name)
    globals()[name] = value
    return value
