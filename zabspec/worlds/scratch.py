"""What a step says about itself, and how it is said in a word: the same in every untimed world."""

from __future__ import annotations

from zabspec.language import Field, Int, MessageUnion, NodeId, Role
from zabspec.language.lang import State, Words

__all__ = ["step_fields"]


def step_fields(message: MessageUnion, nodes: int) -> tuple[Field, ...]:
    """What the step just taken says about itself."""

    def says(name: str, kind: Int | MessageUnion | NodeId, doc: str) -> Field:
        return Field(name, kind, Role.SCRATCH, (), doc)

    return (
        says("steps", Int(0, 2**63 - 1), "the paper's steps it entered, a bit each"),
        says("error", Int(0, 2**32 - 1), "the first error site it met; 0: none"),
        says("choice", Int(0, 255), "which alternative `choose` takes"),
        says("choices", Int(0, 255), "how many alternatives `choose` had; 1: it was not called"),
        says("crash_at", Int(0, 255), "the durable point at which the process crashes; 0: none"),
        says("accepts", Int(0, 2**32 - 1), "proposals accepted"),
        says("accept_epoch", Int(0, 2**32 - 1), "the epoch they were accepted in"),
        says("event", Int(0, 255), "its kind"),
        says("event_process", Int(0, 255), "operand a: the process that took it, or a cut"),
        says("event_peer", NodeId.of(nodes), "operand b: the other end"),
        says("event_message", message, "the message received"),
    )


def emit(out: Words, kind: int, a: int, b: int, c: int) -> None:
    """Append a step word; out[0] counts them."""
    out[0] = out[0] + 1
    out[out[0]] = (kind << 24) | (a << 16) | (b << 8) | c


def begin_step(s: State, word: int) -> None:
    """A step begins: what the last one said of itself is gone."""
    s.steps = 0
    s.accepts = 0
    s.accept_epoch = 0
    s.choices = 1
    s.choice = (word >> 32) & 255
    s.event = (word >> 24) & 255
    s.event_process = (word >> 16) & 255
    s.event_peer = (word >> 8) & 255
