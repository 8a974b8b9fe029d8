"""Traces: what a schedule did, as a file, a text, a diagram, and a sentence that says why it
cannot be."""

from __future__ import annotations

from traces.effects import changes
from traces.explain import why
from traces.export import EXPORTS, to_itf, to_json, to_mermaid
from traces.file import read_trace, write_trace
from traces.names import headline
from traces.runner import Runner, build_trace
from traces.text import to_text
from traces.trace import Step, Trace, TraceError
from traces.values import state_json
from traces.verification import verify

__all__ = [
    "EXPORTS",
    "Runner",
    "Step",
    "Trace",
    "TraceError",
    "build_trace",
    "changes",
    "headline",
    "read_trace",
    "state_json",
    "to_itf",
    "to_json",
    "to_mermaid",
    "to_text",
    "verify",
    "why",
    "write_trace",
]
