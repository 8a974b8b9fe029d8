"""Provide the simulator's clock, random words and heap of mail, in the kernel language.

Mail waits in a heap ordered by (delivery time, sender, sequence number), as the db-19 lab has it. An entry is one word:
those three, then the slot in which the message lies. The sequence number is one counter for the whole run, so two
entries never tie before the slot. Of the sender there are three bits, since the lab has at most seven processes: of
more, those that differ by eight come in the order of their sequence numbers.
"""

from __future__ import annotations

from zabspec.language import NODE, Bool, Field, Int, MessageUnion, Role
from zabspec.language.layout.wrapping import shr, unsigned_rem, wrap_add, wrap_mul
from zabspec.language.python.lang import AnyMessage, Node, State

# The constants as the lab prints them (reading 1), as signed words.
SPLITMIX_ADD = 0x9E3779B97F4A7C15 - 2**64
SPLITMIX_ONE = 0xBF58476D1CE4E7B5 - 2**64
SPLITMIX_TWO = 0x94D049BB133111EB - 2**64

# The bits of a heap entry: time, sender, sequence number, slot.
SLOT_BITS = 14
SEQ_AT = SLOT_BITS
SEQ_BITS = 24
SENDER_AT = SEQ_AT + SEQ_BITS
TIME_AT = SENDER_AT + 3
TICK = 2**TIME_AT  # what an entry's word grows by in a tick
MOST_SLOTS = 2**SLOT_BITS
HELD = 2 ** (63 - TIME_AT) - 1  # a time that never comes: mail waits for the script
LARGEST_TICK = HELD - 2**16


def mail_fields(message: MessageUnion, slots: int) -> tuple[Field, ...]:
    """Return the fields of the clock and the mail.

    Args:
        message: the messages.
        slots: the maximum number of messages in flight.
    """
    net = Role.NETWORK
    word = Int(0, 2**63 - 1)
    tick = Int(0, HELD, "--rounds")
    slot = Int(0, slots, "--in-flight")
    return (
        Field("sim_seed", Int(-(2**63), 2**63 - 1), net, (), "state of the random delays and deadlines"),
        Field("sim_moment", tick, net, (), "the tick"),
        Field("sim_seq", Int(0, 2**SEQ_BITS - 1), net, (), "messages sent so far"),
        Field("sim_scripted", Bool(), net, (), "a script determines all events"),
        Field("sim_least_delay", tick, net, (), "ticks a message takes at least"),
        Field("sim_delays", tick, net, (), "how many delays there are, from that on"),
        Field("sim_queued", slot, net, (), "entries in the heap"),
        Field("sim_queue", word, net, (slots,), "the heap: an entry a word"),
        Field("sim_fresh", slot, net, (), "slots ever used"),
        Field("sim_free", slot, net, (), "slots used before and free again"),
        Field("sim_free_slots", slot, net, (slots,), "which"),
        Field("sim_flight", message, net, (slots,), "the messages in flight, by slot"),
        Field("sim_no_message", message, net, (), "what a notice carries"),
        Field("sim_blocked", Bool(), net, (NODE, NODE), "nothing sent this way arrives"),
    )


def splitmix64(x: int) -> int:
    """Return the lab's random word: one-shot and stateless (reading 1)."""
    z = wrap_add(x, SPLITMIX_ADD)
    z = wrap_mul(z ^ shr(z, 30), SPLITMIX_ONE)
    z = wrap_mul(z ^ shr(z, 27), SPLITMIX_TWO)
    return z ^ shr(z, 31)


def drawn(s: State, source: int, target: int, count: int) -> int:
    """Return one of 0..count-1, from the seed, two processes and the tick."""
    return unsigned_rem(splitmix64(s.sim_seed ^ source ^ target ^ s.sim_moment), count)


# --- the heap ------------------------------------------------------------------------------------


def entry(time: int, sender: Node, seq: int, slot: int) -> int:
    """Return the word of an entry."""
    return (time << TIME_AT) | ((sender & 7) << SENDER_AT) | (seq << SEQ_AT) | slot


def time_of(word: int) -> int:
    return word >> TIME_AT


def sender_of(word: int) -> int:
    return (word >> SENDER_AT) & 7


def slot_of(word: int) -> int:
    return word & (MOST_SLOTS - 1)


def push(s: State, word: int) -> None:
    """Put an entry into the heap."""
    place = s.sim_queued
    s.sim_queued = place + 1
    while place > 0 and s.sim_queue[(place - 1) >> 1] > word:
        s.sim_queue[place] = s.sim_queue[(place - 1) >> 1]
        place = (place - 1) >> 1
    s.sim_queue[place] = word


def take_out(s: State, place: int) -> int:
    """Remove an entry from the heap, the first if `place` is 0; return it."""
    word = s.sim_queue[place]
    s.sim_queued = s.sim_queued - 1
    moved = s.sim_queue[s.sim_queued]
    s.sim_queue[s.sim_queued] = 0
    if place < s.sim_queued:
        while place > 0 and s.sim_queue[(place - 1) >> 1] > moved:
            s.sim_queue[place] = s.sim_queue[(place - 1) >> 1]
            place = (place - 1) >> 1
        sinking = True
        while sinking:
            child = 2 * place + 1
            if child + 1 < s.sim_queued and s.sim_queue[child + 1] < s.sim_queue[child]:
                child = child + 1
            if child < s.sim_queued and s.sim_queue[child] < moved:
                s.sim_queue[place] = s.sim_queue[child]
                place = child
            else:
                sinking = False
        s.sim_queue[place] = moved
    return word


# --- sending -------------------------------------------------------------------------------------


def new_slot(s: State) -> int:
    """Return a free slot for a message."""
    if s.sim_free > 0:
        s.sim_free = s.sim_free - 1
        return s.sim_free_slots[s.sim_free]
    s.sim_fresh = s.sim_fresh + 1
    return s.sim_fresh - 1


def release(s: State, slot: int) -> None:
    """Free the slot of a message."""
    s.sim_free_slots[s.sim_free] = slot
    s.sim_free = s.sim_free + 1


def post(s: State, time: int, source: Node, m: AnyMessage) -> int:
    """Put a message into the heap, to arrive at a tick; return its slot, for the envelope."""
    slot = new_slot(s)
    s.sim_flight[slot] = m
    s.sim_seq = s.sim_seq + 1
    push(s, entry(time, source, s.sim_seq, slot))
    return slot


# --- what is told of steps ------------------------------------------------------------------------


def step_taken(s: State, kind: int, a: int, b: int, c: int) -> None:
    """Write the word of the explorer's step that ends here; listeners observe the call.

    A loss of a message that is being sent is written within the step that sends it.

    Args:
        kind: its number in `zabspec/worlds/steps.py`; a, b and c are the operands. In the place of a message stands the
            slot where it lies or, if it is lost as it is sent, its number.
    """


# --- the script ----------------------------------------------------------------------------------


def bring_forward(s: State, place: int) -> None:
    """Let an entry of the heap arrive in this tick, for a script."""
    word = take_out(s, place)
    push(s, entry(s.sim_moment, sender_of(word), (word >> SEQ_AT) & (2**SEQ_BITS - 1), slot_of(word)))


def lose_mail(s: State, place: int) -> None:
    """Lose an entry of the heap, for a script."""
    release(s, slot_of(take_out(s, place)))


def repeat_mail(s: State, place: int) -> None:
    """Let a copy of an entry arrive in this tick, for a script; the entry stays."""
    word = s.sim_queue[place]
    slot = new_slot(s)
    s.sim_flight[slot] = s.sim_flight[slot_of(word)]
    push(s, entry(s.sim_moment, sender_of(word), (word >> SEQ_AT) & (2**SEQ_BITS - 1), slot))
