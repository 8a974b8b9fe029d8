"""Define the step annotations, and the encoding of step words: the same in every untimed world."""

from __future__ import annotations

from zabspec.language import NODE, Bool, Field, Int, MessageUnion, NodeId, Role
from zabspec.language.python.lang import Node, State, Words

MOST_CHOSEN = "a step has at most 255 alternatives: choose from fewer, or in several steps"


def step_fields(message: MessageUnion, nodes: int) -> tuple[Field, ...]:
    """Return the fields of the step annotations."""

    def says(name: str, kind: Int | MessageUnion | NodeId, doc: str) -> Field:
        return Field(name, kind, Role.SCRATCH, (), doc)

    return (
        says("steps", Int(0, 2**63 - 1), "the paper's steps it entered, a bit each"),
        says("error", Int(0, 2**32 - 1), "the first error site it met; 0: none"),
        says("choice", Int(0, 255), "which alternative `choose` takes"),
        says("choices", Int(0, 255, MOST_CHOSEN), "how many alternatives `choose` had; 1: it was not called"),
        says("crash_at", Int(0, 255), "the durable point at which the process crashes; 0: none"),
        says("accepts", Int(0, 2**32 - 1), "proposals accepted"),
        says("accept_epoch", Int(0, 2**32 - 1), "the epoch they were accepted in"),
        says("event", Int(0, 255), "its kind"),
        says("event_process", NodeId.of(nodes), "the process that took it; none: a cut of the network"),
        says("event_peer", NodeId.of(nodes), "who is at the other end of its connection, or sent what it receives"),
        says("event_message", message, "the message received"),
        Field("endpoint", Bool(), Role.SCRATCH, (NODE,), "never true: what is indexed by an end of a message"),
    )


def any_step(out: Words) -> bool:
    """Return whether a step is listed."""
    return out[0] > 0


def no_steps(out: Words) -> None:
    """Clear the list of steps."""
    out[0] = 0


def emit(out: Words, kind: int, a: Node, b: Node, c: int) -> None:
    """Append a step word of process a, with b at the other end; out[0] is the number of words."""
    out[0] = out[0] + 1
    out[out[0]] = (kind << 24) | (a << 16) | (b << 8) | c


def emit_alone(out: Words, kind: int, a: Node) -> None:
    """Append a step word of process a, of a kind without a process at the other end."""
    emit(out, kind, a, 0, 0)


def emit_which(out: Words, kind: int, a: Node, c: int) -> None:
    """Append a step word of process a, of a kind without a process at the other end; c tells which step."""
    emit(out, kind, a, 0, c)


def emit_inside(out: Words, kind: int, a: Node, b: int, c: int) -> None:
    """Append a step word of process a that breaks off another: b is that step's kind, c tells which step."""
    emit(out, kind, a, b, c)


def emit_nobodys(out: Words, kind: int, c: int) -> None:
    """Append a step word of a kind that no process takes; c tells which step."""
    emit(out, kind, 0, 0, c)


def process_in(word: int) -> Node:
    """Return operand a of a step word whose kind has a process there."""
    return (word >> 16) & 255


def peer_in(word: int) -> Node:
    """Return operand b of a step word whose kind has a process there."""
    return (word >> 8) & 255


def begin_step(s: State, word: int, a: Node, b: Node) -> None:
    """Begin a step of process a with b at the other end, and clear the annotations of the last step."""
    s.steps = 0
    s.accepts = 0
    s.accept_epoch = 0
    s.choices = 1
    s.choice = (word >> 32) & 255
    s.event = (word >> 24) & 255
    s.event_process = a
    s.event_peer = b
