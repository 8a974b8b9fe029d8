"""Why the events of a trace cannot be: one sentence in the paper's notation.

Everything is found in the trace itself: `why` looks for the smallest events that break the
property.
"""

from __future__ import annotations

from collections.abc import Sequence

from traces import broadcast_reasons, protocol_reasons
from traces.effects import changes
from traces.evidence import Evidence, Reason
from traces.names import headline
from traces.trace import JsonState, Trace, TraceError

__all__ = ["REASONS", "STEP_REASONS", "why"]

# By property: those of a state, and those of a step.
REASONS: dict[str, Reason] = broadcast_reasons.REASONS | protocol_reasons.REASONS
STEP_REASONS: dict[str, Reason] = protocol_reasons.STEP_REASONS


def why(evidence: Trace | Sequence[JsonState], name: str = "") -> str:
    """One sentence with the smallest events that break a property, found in the last state or step.

    Args:
        evidence: a trace; or states alone, in order, from which less can be told: not which step
            did it, and nothing about properties of steps.
        name: the property; a trace says itself which it breaks.

    Returns:
        The sentence; the empty text for a trace without a property.

    Raises:
        TraceError: the last state or step does not break the property, or the property is one of
            steps and there is none.
    """
    if isinstance(evidence, Trace):
        name = name or evidence.property_name
        found = Evidence(evidence.states, evidence.steps)
        if not name:
            return ""
    else:
        found = Evidence(evidence, ())
    if name in STEP_REASONS:
        if not found.steps:
            raise TraceError(f"{name} is a property of steps, and there is no step")
        sentence = STEP_REASONS[name](found)
    elif name in REASONS:
        sentence = REASONS[name](found)
    else:
        return _unknown(evidence, name)
    if not sentence:
        raise TraceError(f"nothing in the last state breaks {name!r}")
    return sentence


def _unknown(evidence: Trace | Sequence[JsonState], name: str) -> str:
    """The most that can be said of a property this module does not know: what the last step did."""
    if not isinstance(evidence, Trace) or not evidence.steps:
        return f"The last state breaks {name}."
    did = "; ".join(changes(evidence, len(evidence.steps))) or "nothing that shows"
    return f"Step {len(evidence.steps)} ({headline(evidence.steps[-1])}) breaks {name}: {did}."
