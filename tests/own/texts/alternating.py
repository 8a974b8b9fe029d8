"""The alternating bit protocol over channels that lose any message."""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    AtMost,
    Fields,
    Node,
    Range,
    RecordType,
    SeqOf,
    action,
    any_of,
    choose,
    declare,
    initial,
    progress,
    safety,
    shared,
)

Sender = NewType("Sender", Node)
Receiver = NewType("Receiver", Node)
Datum = NewType("Datum", Node)
Bit = Annotated[int, Range(0, 1)]


class Packet(RecordType):
    bit: Bit
    datum: Datum


Packets = Annotated[SeqOf[Packet], AtMost(2)]
Acks = Annotated[SeqOf[Bit], AtMost(2)]


class State(Fields):
    packets: Packets = shared("on their way to the receiver")
    acks: Acks = shared("on their way to the sender")
    s_bit: Bit = shared("the sender's bit")
    s_ack: Bit = shared("the last bit acknowledged")
    r_bit: Bit = shared("the receiver's bit")
    sent: Datum = shared("what is sent")
    received: Datum = shared("what is received")


@initial
def start(s: State) -> None:
    s.s_bit = choose(s, 2)
    s.s_ack = s.s_bit
    s.r_bit = s.s_bit
    s.sent = any_of(s, Datum)
    s.received = any_of(s, Datum)


def room(s: State) -> bool:
    return len(s.packets) < 2


@action(when=lambda s, p: s.s_ack == s.s_bit and room(s), fair=False)
def send_new(s: State, p: Sender) -> None:
    s.sent = any_of(s, Datum)
    s.s_bit = 1 - s.s_bit
    s.packets.append(Packet(bit=s.s_bit, datum=s.sent))


@action(when=lambda s, p: s.s_ack != s.s_bit and room(s))
def resend(s: State, p: Sender) -> None:
    s.packets.append(Packet(bit=s.s_bit, datum=s.sent))


@action(when=lambda s, p: len(s.packets) > 0, fair="strong")
def receive(s: State, p: Receiver) -> None:
    m = s.packets.pop(0)
    s.r_bit = m.bit
    s.received = m.datum


@action(when=lambda s, p: len(s.acks) < 2)
def send_ack(s: State, p: Receiver) -> None:
    s.acks.append(s.r_bit)


@action(when=lambda s, p: len(s.acks) > 0, fair="strong")
def receive_ack(s: State, p: Sender) -> None:
    s.s_ack = s.acks.pop(0)


@action(when=lambda s, p: len(s.packets) > 0, fair=False)
def lose(s: State, p: Sender) -> None:
    s.packets.pop(any_of(s, range(len(s.packets))))


@action(when=lambda s, p: len(s.acks) > 0, fair=False)
def lose_ack(s: State, p: Receiver) -> None:
    s.acks.pop(any_of(s, range(len(s.acks))))


def new_sent(s: State) -> bool:
    """Something is acknowledged."""
    return s.s_ack == s.s_bit


@safety(witness=new_sent)
def arrived(s: State) -> bool:
    """What is acknowledged has arrived."""
    return s.s_ack != s.s_bit or s.r_bit == s.s_bit


@progress
def arrives(s: State, p: Receiver) -> bool:
    """What is sent arrives."""
    return s.s_bit != s.s_ack and s.sent != s.received


PROTOCOL = declare(__name__, roles={"sender": 1, "receiver": 1, "datum": 2})
