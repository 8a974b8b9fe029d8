"""What the author of a protocol imports: the kinds of fields, and the names that a text of the language may use.

`docs/language.md` is the reference.
"""

from __future__ import annotations

from zabspec.language import NODE, Bool, Field, Int, Message, MessageUnion, NodeId, Record, Role, Seq, SetOf
from zabspec.language.lang import NOBODY, AnyMessage, History, MessageName, Node, State, Txn, Zxid, forget, step
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
    revise,
    send,
    send_to_follower,
    send_to_leader,
)

__all__ = [
    "NOBODY", "NODE", "AnyMessage", "Bool", "Field", "History", "Int", "Message", "MessageName", "MessageUnion",
    "Node", "NodeId", "Record", "Role", "Seq", "SetOf", "State", "Txn", "Zxid", "abcast", "abdeliver", "accept",
    "arm_timer", "choose", "connect", "disconnect", "durable", "end_leadership", "end_pass", "end_synchronization",
    "establish", "forget", "revise", "send", "send_to_follower", "send_to_leader", "step",
]  # fmt: skip
