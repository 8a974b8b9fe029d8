"""What a step says about itself: the same in every world."""

from __future__ import annotations

from zabspec.language import Field, Int, MessageUnion, NodeId, Role

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
