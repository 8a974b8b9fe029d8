"""What the author of a protocol imports: the kinds of fields, and the names that a text of the language may use.

`docs/reference/protocol-language.md` is the reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from zabspec.authoring.declaration import (
    AtMost,
    Epoch,
    Maybe,
    OneOf,
    Range,
    Size,
    Start,
    Variant,
    action,
    clock,
    declare,
    environment,
    environment_step,
    final,
    fires,
    ghost,
    initial,
    invariant,
    joins,
    lease,
    leaves,
    observation,
    on_disk,
    parameter,
    progress,
    receives,
    safety,
    shared,
    stored,
    timer,
    volatile,
)
from zabspec.language.python.lang import (
    NOTHING,
    AnyMessage,
    Each,
    Fields,
    History,
    Members,
    MessageType,
    Node,
    RecordType,
    SeqOf,
    State,
    Txn,
    Zxid,
    any_of,
    any_process,
    broken,
    forget,
    is_a,
    is_quorum,
    only,
    processes,
    step,
)  # fmt: skip
from zabspec.worlds.actor import (
    abcast,
    abdeliver,
    accept,
    arm_timer,
    choose,
    connect,
    disconnect,
    durable,
    end_leadership,
    end_pass,
    end_synchronization,
    establish,
    force,
    is_down,
    revise,
    send,
    send_to_follower,
    send_to_leader,
)

__all__ = [
    "NOBODY", "NOTHING", "AnyMessage", "AtMost", "Each", "Epoch", "Fields", "History", "Maybe", "Members",
    "MessageType", "Node", "OneOf", "Range", "RecordType", "SeqOf", "Size", "Start", "State", "Txn", "Variant",
    "Zxid", "abcast", "abdeliver", "accept", "action", "any_of", "any_process", "arm_timer", "broken", "choose",
    "clock", "connect", "declare", "disconnect", "durable", "end_leadership", "end_pass", "end_synchronization",
    "environment", "environment_step", "establish", "final", "fires", "force", "forget", "ghost", "initial",
    "invariant", "is_a", "is_down", "is_quorum", "joins", "lease", "leaves", "observation", "on_disk", "only",
    "parameter", "processes", "progress", "receives", "revise", "safety", "send", "send_to_follower", "send_to_leader",
    "shared", "step", "stored", "timer", "volatile",
]  # fmt: skip

if TYPE_CHECKING:
    NOBODY: Never  # to tools a value of every type: a process of whatever role, or none
else:
    from zabspec.language.python.lang import NOBODY
