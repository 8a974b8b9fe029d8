"""The world of datagrams, on db19: bags and envelopes, both worlds' successors byte for byte, what leaving out
stuttering receipts leaves out, and the observed history against the complete one."""

# ruff: noqa: PT018
from __future__ import annotations

import ctypes
import dataclasses
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.interpret import Interpreter
from checker.explore.result import Limits
from checker.explore.stuttering import stutters
from tests.histories import DatagramWalk
from tests.models import (
    compiled,
    import_text,
    judged,
    model,
    packed_and_back,
    python_names,
    python_successors,
)
from traces import Runner
from zabspec.language import (
    NODE,
    Field,
    Int,
    LanguageError,
    Message,
    MessageUnion,
    NodeId,
    RangeError,
    Role,
    Schema,
    Seq,
    StateView,
)
from zabspec.language.front import frontend
from zabspec.language.layout import derive
from zabspec.language.layout.error_sites import site_number
from zabspec.language.layout.schema import Layout
from zabspec.language.native import llvm_text
from zabspec.language.native.jit import MachineCode, compile_text, has_bit_gather
from zabspec.language.program import Program
from zabspec.model import Configuration
from zabspec.worlds.over_datagrams import WORLD as OVER_DATAGRAMS
from zabspec.worlds.steps import ABCAST, CRASH, DROP, ELECTION_TIMEOUT, HEARTBEAT, RECEIVE, RECOVER, REPEAT

JUDGED = judged("db19")
NETWORKS = ("datagrams", "ordered")


def lab(**fields: Any) -> Configuration:
    return Configuration(protocol="db19", **fields)


WALKED = (
    lab(nodes=2, txns=2, timeouts=2, crashes=1, heartbeats=1),
    lab(nodes=3, txns=2, timeouts=3, crashes=1, heartbeats=2),
    lab(nodes=3, txns=2, timeouts=3, crashes=1, heartbeats=2, network="ordered", drops=2, duplicates=2),
)


def name(x: object) -> str:
    if not isinstance(x, Configuration):
        return str(x)
    budgets = f"{x.timeouts}{x.crashes}{x.heartbeats}"
    return "-".join(filter(None, (x.variant, f"n{x.nodes}t{x.txns}", budgets, x.network)))


@cache
def visited(configuration: Configuration, states: int = 250, length: int = 60) -> tuple[bytes, ...]:
    """Distinct states met on random walks in the compiled world. Few timers fire while something is in flight: else
    most walks never come to a leader."""
    code, source = compiled(configuration), random.Random(1)
    first = code.model.program.initial().key()
    found: dict[bytes, None] = {first: None}
    while len(found) < states:
        at = first
        for _ in range(length):
            after = code.next_states(at)
            if not after or len(found) >= states:
                break
            weights = [1.0 if word >> 24 & 255 in (RECEIVE, ABCAST) else 0.1 for word, _ in after]
            at = source.choices(after, weights)[0][1][: code.layout.size]
            found[at] = None
    return tuple(found)


# --- successors ----------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", WALKED, ids=name)
def test_successors_are_the_same_byte_for_byte(configuration: Configuration) -> None:
    """Both worlds have the same steps in the same order, each with the same state after it, scratch included; the
    walks take every kind of step and enter every fragment of the lab's text."""
    code = compiled(configuration)
    events, steps = set(), 0
    for data in visited(configuration):
        after = code.next_states(data)
        assert after == list(python_successors(configuration, data))
        for _, raw in after:
            s = StateView(code.layout, raw)
            assert s.error == 0
            events.add(s.event)
            steps |= s.steps
    usual = {ABCAST, CRASH, RECOVER, RECEIVE, ELECTION_TIMEOUT, HEARTBEAT}
    assert events == (usual | {DROP, REPEAT} if configuration.drops else usual)
    assert {n for k, n in enumerate(code.steps) if not steps >> k & 1} == set()


# --- bags ----------------------------------------------------------------------------------------


def bag_of(s: StateView) -> list[bytes]:
    return [m.raw() for m in s.in_flight]


def with_bag(configuration: Configuration, data: bytes, elements: list[bytes]) -> bytes:
    """The state with these messages in flight, in this order."""
    layout = model(configuration).program.layout
    ((at, kind),) = derive.bags(layout)
    body = b"".join(elements)
    bag = len(elements).to_bytes(kind.header, "little") + body
    return data[:at] + bag.ljust(kind.size, b"\0") + data[at + kind.size :]


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", WALKED, ids=name)
def test_the_order_of_a_bag_means_nothing(configuration: Configuration) -> None:
    """In whatever order the messages lie a state has one fingerprint, and one form with them in order."""
    code, source = compiled(configuration), random.Random(2)
    shuffled = 0
    for data in visited(configuration):
        elements = bag_of(StateView(code.layout, data))
        for _ in range(3):
            source.shuffle(elements)
            other = with_bag(configuration, data, elements)
            assert code.canonical(other)[0] == code.canonical(data)[0]
            assert derive.in_order(code.layout, other) == derive.in_order(code.layout, data)
            shuffled += other != data
    assert shuffled > 100


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("configuration", WALKED, ids=name)
def test_states_that_differ_beyond_the_order_have_different_fingerprints(configuration: Configuration) -> None:
    """A message more, one less, one in place of another, the same one more often: each is another state."""
    code = compiled(configuration)
    by_fingerprint: dict[int, bytes] = {}
    seen = 0
    for data in visited(configuration)[::4]:
        elements = bag_of(StateView(code.layout, data))
        others = [elements]
        for k, element in enumerate(elements):
            rest = elements[:k] + elements[k + 1 :]
            others += [rest, [*rest, *rest[:1]], [*elements, element], [*elements, element, element]]
            others += [[*rest, bytes([element[0] % 9 + 1]) + element[1:]]]
            flipped = bytearray(element)
            flipped[1], flipped[2] = flipped[2], flipped[1]
            others += [[*rest, bytes(flipped)]]
        for other in others:
            state = derive.in_order(code.layout, with_bag(configuration, data, other))
            assert by_fingerprint.setdefault(code.canonical(state)[0], state) == state
            seen += 1
    assert len(by_fingerprint) > seen / 4 and seen > 500


def test_the_same_message_twice_does_not_cancel_out() -> None:
    """A sum tells {x, x} from {y, y} and from {}; a difference, such as exclusive or, would not."""
    configuration = WALKED[1]
    code = compiled(configuration)
    data = next(d for d in visited(configuration) if len(set(bag_of(StateView(code.layout, d)))) > 1)
    x, y = sorted(set(bag_of(StateView(code.layout, data))))[:2]
    bags: tuple[list[bytes], ...] = (
        [],
        [x],
        [y],
        [x, x],
        [y, y],
        [x, y],
        [x, x, x],
        [x, x, y],
        [x, y, y],
        [x, x, y, y],
    )
    assert len({code.canonical(with_bag(configuration, data, bag))[0] for bag in bags}) == len(bags)


@pytest.mark.parametrize("configuration", WALKED, ids=name)
def test_a_packed_state_with_a_bag_unpacks_to_itself(configuration: Configuration) -> None:
    code = compiled(configuration)
    longest = 0
    seen: dict[bytes, bytes] = {}
    for data in visited(configuration):
        assert seen.setdefault(packed_and_back(code, data), data) == data
        longest = max(longest, len(StateView(code.layout, data).in_flight))
    assert longest > 4


@cache
def stutters_function(configuration: Configuration) -> Any:
    """`stutters` in machine code: the kernel inlines it, and does not hand it out."""
    code = compiled(configuration)
    program = code.model.program
    front = frontend.FrontEnd(code.layout, code.typed_namespace(), program.types, program.handlers)
    front.function("stutters")
    text = llvm_text.emit_program(front.program, code.layout, {"stutters"}, has_bit_gather())
    machine = MachineCode(compile_text(text), {})
    return machine, machine.function("stutters", ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)


def without_mail(layout: Layout, data: bytes) -> bytes:
    """A state without what is in flight."""
    out = bytearray(data)
    for name in ("in_flight", *(["in_line"] if "in_line" in layout.fields else [])):
        size = layout.fields[name].kind.size
        for _, at in layout.elements(name):
            out[at : at + size] = bytes(size)
    return bytes(out)


@pytest.mark.parametrize("configuration", WALKED, ids=name)
def test_a_stuttering_receipt_is_the_same_in_machine_code(configuration: Configuration) -> None:
    """Machine code and `stutters` say the same of every step out of random states: the state is the same but for one
    message, which is gone, and was behind no other."""
    code = compiled(configuration)
    _, compiled_ = stutters_function(configuration)
    said: Counter[bool] = Counter()
    for data in visited(configuration):
        for word, raw in code.next_states(data):
            after = raw[: code.layout.size]
            plain = stutters(code.layout, StateView(code.layout, data), StateView(code.layout, raw))
            assert bool(compiled_(code.state(data), code.state(raw))) == plain
            before, now = (without_mail(code.layout, x) for x in (data, after))
            lengths = [len(StateView(code.layout, x).in_flight) for x in (data, after)]
            if plain:
                assert before == now
                assert lengths[1] == lengths[0] - 1
                assert word >> 24 & 255 == RECEIVE
                assert StateView(code.layout, data).in_flight[word & 255].ahead == 0
            said[plain] += 1
    assert said[True] > 20 and said[False] > 100


def test_a_step_that_answers_alike_does_not_stutter() -> None:
    """A receipt that changes nothing but sends a message leaves as many in flight as before."""
    layout = model(WALKED[0]).program.layout
    names, s = python_names(WALKED[0]), StateView(layout, visited(WALKED[0])[0])
    names["on_timer"](s, 0, 0)  # looks for a leader: its broadcasts are in flight
    before = s.copy()
    s.event = RECEIVE
    s.event_message = s.in_flight[0]
    s.in_flight.pop(0)
    after = s.copy()
    assert stutters(layout, before, after)
    after.in_flight.append(before.in_flight[1])
    assert not stutters(layout, before, after)
    s.accepts = 1
    assert not stutters(layout, before, s)
    s.accepts = 0
    s.in_flight.pop(0)
    assert not stutters(layout, before, s)


# --- envelopes -----------------------------------------------------------------------------------

ENVELOPE = {"source": NodeId.of(3), "target": NodeId.of(3), "weight": Int(-2, 70_000, "--weight")}
UNION = MessageUnion((Message("PING", {"round": Int(0, 9)}), Message("PONG", {})), ENVELOPE)
SCHEMA = Schema(
    3,
    (
        Field("x", Int(0, 100), Role.VOLATILE, (NODE,)),
        Field("mail", Seq(UNION, 3, "--mail"), Role.NETWORK),
        Field("steps", Int(0, 2**63 - 1), Role.SCRATCH),
        Field("error", Int(0, 2**32 - 1), Role.SCRATCH),
    ),
    {"NODES": 3},
)
HEADER = '''"""A text of the language, written for a test."""
from __future__ import annotations
from zabspec.language.python.lang import AnyMessage, MessageName, Node, State
PING = MessageName("PING")
PONG = MessageName("PONG")
'''
WORLD = """
def post(s: State, p: Node, q: Node, m: AnyMessage, weight: int) -> None:
    s.mail.append(m)
    k = len(s.mail) - 1
    s.mail[k].source = p
    s.mail[k].target = q
    s.mail[k].weight = weight


def sender(s: State, m: AnyMessage) -> int:
    return m.source


def posted(s: State, p: Node, q: Node, a: int) -> int:
    post(s, p, q, PING(round=7), a)
    post(s, q, p, PONG(), 1)
    s.mail[1].weight = s.mail[0].weight + 1
    return s.mail[0].source * 1000 + s.mail[0].target * 100 + s.mail[1].weight * 10000 + round_of(s, s.mail[0])


def round_of(s: State, m: AnyMessage) -> int:
    if m.kind == PING:
        return inside(s, m)
    return 0


def inside(s: State, m: PING) -> int:
    return m.round


def redirected(s: State, p: Node, a: int) -> int:
    post(s, p, p, PING(round=2), 5)
    s.mail[0].target = a
    return sender(s, s.mail[0]) * 10 + s.mail[0].target
"""


def text_of(folder: Path, protocol: str = "", world: str = "") -> Program:
    worlds = import_text(folder, "a_world", HEADER + WORLD + world)
    protocols = import_text(folder, "a_protocol", HEADER + protocol)
    return Program(SCHEMA, {"AnyMessage": UNION}, world=(worlds,), protocol=(protocols,))


def test_an_envelope_lies_before_every_message() -> None:
    assert UNION.envelope_offsets == {"source": 1, "target": 2, "weight": 3}
    assert UNION.offsets("PING")["round"] == UNION.body == 7
    assert UNION.size == 8
    plain = MessageUnion(UNION.messages)
    assert (plain.body, plain.size, plain.envelope_offsets) == (1, 2, {})


@pytest.mark.parametrize("called", ["posted", "redirected"])
def test_an_envelope_is_read_as_it_was_written_in_both_worlds(called: str, tmp_path: Path) -> None:
    """Result and state after are the same; a value out of its range is an error in both, and nothing wraps."""
    made = text_of(tmp_path)
    typed = made.typed([called])
    machine = MachineCode(compile_text(llvm_text.emit_program(typed, made.layout, {called}, has_bit_gather())), {})
    arguments = {"posted": 3, "redirected": 2}[called]
    function = machine.function(called, ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * arguments)
    errors = 0
    for p in range(3):
        for a in (-3, -2, -1, 0, 1, 2, 3, 255, 256, 69_999, 70_000, 70_001):
            given = (p, (p + 1) % 3, a)[3 - arguments :] if arguments == 3 else (p, a)
            s = StateView(made.layout)
            buffer = ctypes.create_string_buffer(made.layout.total)
            result = function(buffer, *given)
            after = StateView(made.layout, buffer.raw)
            if after.error:
                site = typed.sites[site_number(after.error) - 1]
                with pytest.raises(RangeError) as caught:
                    made.python[called](s, *given)
                problem = caught.value
                assert (site.field, site.problem, site.widen) == (problem.field, problem.problem, problem.widen)
                assert problem.field.startswith("the envelope's ")
                errors += 1
            else:
                assert made.python[called](s, *given) == result
                assert after.key() == s.key()
                assert result % 10 == (7 if called == "posted" else a % 10)
    assert 0 < errors < 36


def test_a_message_does_not_change_but_for_its_envelope(tmp_path: Path) -> None:
    made = text_of(tmp_path)
    s = StateView(made.layout)
    made.python["posted"](s, 0, 1, 5)
    m = s.mail[0]
    before = m.raw()
    with pytest.raises(AttributeError, match="a message does not change, its envelope excepted"):
        m.round = 1
    m.source = 2
    assert m.raw() == bytes([before[0], 3]) + before[2:]
    assert (m.source, m.target, m.weight, m.round) == (2, 1, 5, 7)


REFUSED = {
    "read": ("def h(s: State, p: Node, m: AnyMessage) -> None:\n    s.x[p] = m.source\n", "h", "source, which is on"),
    "read of PING": ("def h(s: State, p: Node, m: PING) -> None:\n    s.x[p] = m.target\n", "h", "target, which is on"),
    "written": ("def h(s: State, p: Node, m: AnyMessage) -> None:\n    m.source = p\n", "h", "."),
    "in flight": ("def h(s: State, p: Node) -> None:\n    s.x[p] = s.mail[0].source\n", "h", "network"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_a_handler_does_not_open_an_envelope(which: str, tmp_path: Path) -> None:
    """What a handler is to know of a message's way is handed to it."""
    text, root, reason = REFUSED[which]
    with pytest.raises(LanguageError, match=reason):
        text_of(tmp_path, text).typed([root])


def test_a_world_does_not_change_a_message(tmp_path: Path) -> None:
    text = "def w(s: State, m: PING) -> None:\n    m.round = 1\n"
    with pytest.raises(LanguageError):
        text_of(tmp_path, world="\n\n" + text).typed(["w"])


# --- what the network does -----------------------------------------------------------------------


def test_what_is_overtaken_on_an_ordered_network_is_lost() -> None:
    """Three messages from p0 to p1 and one the other way: the second arrives, so the first never does."""
    configuration = WALKED[2]
    names, s = python_names(configuration), model(configuration).program.initial()
    for target, epoch in ((1, 1), (1, 2), (2, 2), (1, 3)):
        names["send"](s, 0, target, names["NewEpoch"](new_epoch=epoch))
    names["send"](s, 1, 0, names["NewEpoch"](new_epoch=4))
    place = next(k for k, m in enumerate(s.in_flight) if (m.target, m.new_epoch) == (1, 2))
    names["take_out"](s, place, False, True)
    left = sorted((m.source, m.target, m.new_epoch, m.ahead) for m in s.in_flight)
    assert left == [(0, 1, 3, 0), (0, 2, 2, 0), (1, 0, 4, 0)]


def receipts(names: Any, s: StateView) -> Counter[bytes]:
    """Which messages can be received in a state, each without how many are ahead of it."""
    out = [0] * 512
    names["enabled"](s, out)
    places = [out[k] & 255 for k in range(1, out[0] + 1) if out[k] >> 24 & 255 == RECEIVE]
    for m in s.in_flight:
        m.ahead = 0
    return Counter(bag_of(s)[place] for place in places)


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("network", list(OVER_DATAGRAMS.networks))
def test_where_a_message_waits_for_another_the_bag_says_so(network: str) -> None:
    """Stuttering receipts may be left out only where the message may as well stay: what can be received without it
    can be received beside it. A network on which that is not so, and whose bag does not say `blocks`, would have
    searches leave out states."""
    configuration = lab(nodes=3, txns=1, timeouts=2, crashes=0, heartbeats=1, network=network)
    names, layout = python_names(configuration), model(configuration).program.layout
    waits = False
    for data in visited(configuration):
        here = StateView(layout, data)
        beside = receipts(names, StateView(layout, data))
        for place in range(len(here.in_flight)):
            if here.in_flight[place].ahead == 0:
                without = StateView(layout, data)
                names["take_out"](without, place, False, False)
                waits = waits or bool(receipts(names, without) - beside)
    assert waits == (not derive.may_stutter(layout))


@pytest.mark.parametrize("configuration", [WALKED[0], dataclasses.replace(WALKED[0], network="ordered")], ids=name)
def test_too_many_in_flight_is_an_error_that_names_the_flag(configuration: Configuration) -> None:
    """In both engines, at the same level, and never a smaller space."""
    few = dataclasses.replace(configuration, channel=3)
    fast = Explorer(compiled(few, False, ()), 1).run(Limits(depth=12))
    slow = Interpreter(model(few), (), False).run(Limits(depth=12))
    for result in (fast, slow):
        assert "in_flight would hold more than 3" in result.error
        assert "--channel" in result.error
        assert not result.complete
    assert fast.expanded_levels == slow.expanded_levels


@pytest.mark.slow(seconds=1)
def test_in_order_none_is_lost_but_by_a_drop_and_none_overtakes() -> None:
    """What is received of each pair has the numbers 1, 2, 3, ... but for those dropped, and again those repeated; and
    a receipt that changes nothing is a step, since what is behind it waits for it."""
    configuration = lab(nodes=3, txns=2, timeouts=3, crashes=1, heartbeats=2, network="fifo", drops=2, duplicates=2)
    assert not derive.may_stutter(model(configuration).program.layout)
    assert derive.may_stutter(model(WALKED[2]).program.layout)
    kinds = set()
    for seed in range(8):
        runner, chance, next_of = Runner(model(configuration)), random.Random(seed), Counter[tuple[int, int]]()
        dropped: set[tuple[int, int, int]] = set()
        for _ in range(70):
            possible = runner.possible()
            if not possible:
                break
            step = runner.step(chance.choice([w for w in possible if w >> 24 == RECEIVE] * 9 + possible))
            kinds.add(step.word.kind)
            if (m := step.message) is None:
                continue
            pair = (m.source, m.destination)
            if step.word.row.loses:
                dropped.add((*pair, m.number))
                continue
            while (*pair, next_of[pair] + 1) in dropped:
                next_of[pair] += 1
            assert m.number == next_of[pair] + 1
            next_of[pair] += not step.word.row.keeps
    assert kinds >= {"receive", "drop", "repeat"}


# --- the observed history ------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("network", NETWORKS)
def test_ghosts_agree_with_the_complete_history(network: str) -> None:
    """After every step of random runs the properties say of the ghosts what the paper says of the whole history."""
    broken: Counter[str] = Counter()
    own = model(lab(nodes=3, txns=3, timeouts=4, crashes=1, heartbeats=3, network=network))
    for seed in range(15):
        walk = DatagramWalk(own, seed)
        known = 0
        for _ in range(150):
            if not walk.step():
                break
            if len(walk.events) != known:
                known = len(walk.events)
                ghost, naive = walk.ghost_verdicts(), walk.naive_verdicts()
                assert ghost == naive, walk.events
                broken.update(name for name, holds in ghost.items() if not holds)
    assert len(broken) > 3, "walks break the lab's protocol"
    assert network == "ordered" or "delivered-stands" in broken
