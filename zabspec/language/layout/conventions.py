"""Describe a world's code, so that the reads and writes of steps can be determined (`footprints.py`).

This is a module of its own: a small exploration only needs to know whether there are conventions, and need not load
what walks the code.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Conventions:
    """The conventions of a world, on which the analyses of its programs rely.

    Attributes:
        kinds: the names of the kinds of step, by number.
        received: by kind, the tags of the messages that a step of it may receive.
        paired: the kinds of step whose operand b is a process.
        labels: the functions that are labels.
        decoders: by name, the functions that extract operand `a` or `b` from a step word, that list a step (`list`),
            and that begin the list (`begin`).
        follows: the field with the process that a process follows: operand b, where a step word has none.
        message: the scratch field with the message received.
        kind_field: the scratch field with the step's kind; `process_field`, `peer_field`: with its processes.
        role: the field whose value `leading` is given up by processes that have called one of `closing` before.
        channels: by kind, the field with the message that it receives, and the operands that index it.
        where: the function that says of a state whether the declarations in `commute` are true there.
        commute: the pairs of labels that may be swapped.
        commute_apart: the pairs that may be swapped where two processes take the steps, and not where one does.
        own: the function that says of a process that it is on its own.
        own_roles: the kinds of step that such a process may take, and the role that it then has; None if it is not
            known.
        own_unread: the fields, under labels, of itself and of the process that it follows that a following process then
            does not read.
        own_waits: the kinds of step that others may make possible for such a process before it has taken one, unless it
            follows from the protocol that they do not.
    """

    kinds: Mapping[int, str]
    received: Mapping[int, Collection[int]]
    paired: Collection[int]
    labels: Collection[str]
    decoders: Mapping[str, str]
    follows: str
    message: str
    kind_field: str
    process_field: str
    peer_field: str
    role: str
    leading: int
    closing: tuple[str, ...]
    channels: Mapping[int, tuple[str, tuple[str, ...]]]
    where: str
    commute: tuple[tuple[str, str], ...]
    commute_apart: tuple[tuple[str, str], ...]
    own: str
    own_roles: Mapping[int, int | None]
    own_unread: tuple[tuple[str, str], ...]
    own_waits: tuple[int, ...]
