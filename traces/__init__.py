"""Traces: what a schedule did, as a file, a text, a diagram, and a sentence that says why it
cannot be."""

from __future__ import annotations

from traces.explain import changes, headline, why
from traces.export import EXPORTS, to_itf, to_json, to_mermaid
from traces.text import to_text
from traces.trace import Runner, Step, Trace, TraceError, build_trace, read_trace, state_json, verify, write_trace

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
