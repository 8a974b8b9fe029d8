"""Interned components with memoised steps find what the full search finds, and what they remember is what the program
does (docs/components.md)."""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace
from functools import cache

import pytest

from checker.commands import explore as command
from checker.explore import component_kernel as own
from checker.explore import kernel
from checker.explore.breadth_first import GROUPS, UNIT, Chunk, Explorer
from checker.explore.compiled import Compiled
from checker.explore.componented import ComponentExplorer, Components, why_not_components
from checker.explore.memory import Block
from checker.explore.result import Exploration, Limits
from invariants import properties_of
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS

EVERY = bool(os.environ.get("ZABCHECK_EVERY"))
DEFAULT = [p for p in properties_of("zab") if p.default and p.judges("zab")]
SMALL = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0)
TWO = Configuration(nodes=2, txns=2, timeouts=1, crashes=1, losses=1)
LOSING = replace(SMALL, timeouts=0, crashes=1, losses=1)
LARGER = [Configuration(nodes=3, txns=2, timeouts=t, crashes=c, losses=0) for t, c in ((1, 0), (0, 1), (1, 1))]
VARIANTS = [replace(TWO, variant=v) for v in sorted(PROTOCOLS["zab"].variants) if v]
# with steps that a crash breaks off, of which no case is known
CRASH_INSIDE = ("ack-then-history", "clear-then-history", "epoch-then-history", "history-then-epoch")
BREAKS = replace(TWO, variant="no-promise")
STEPS_BREAK = Configuration(nodes=3, txns=2, timeouts=0, crashes=0, losses=0, variant="propose-to-synced-only")


@cache
def components(configuration: Configuration, symmetry: bool) -> Components:
    return Components(Model(configuration), DEFAULT, symmetry)


def found(r: Exploration) -> dict[str, object]:
    """What an exploration by components must find as the full one does: all."""
    return {
        "levels": r.levels,
        "raw": r.raw_levels,
        "generated": r.generated,
        "terminal": r.terminal,
        "steps": r.step_counts,
        "events": r.event_counts,
        "witnessed": r.witnessed,
        "violated": {name: v.depth for name, v in r.violations.items()},
        "complete": r.complete,
        "expanded": r.expanded_levels,
    }


def both(configuration: Configuration, symmetry: bool, threads: int = 1, **limits: int) -> list[Exploration]:
    code = Compiled(Model(configuration), DEFAULT, symmetry)
    full = Explorer(code, 2).run(Limits(**limits), keep_going=True)
    less = ComponentExplorer(components(configuration, symmetry), threads).run(Limits(**limits), keep_going=True)
    return [full, less]


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize(
    ("configuration", "depth", "symmetry"),
    [
        (TWO, 90, True),
        (STEPS_BREAK, 60, True),
        *([(c, 99, s) for c in (SMALL, LOSING, *LARGER, *VARIANTS) for s in (True, False)] if EVERY else []),
    ],
    ids=str,
)
def test_all_is_found_as_in_the_full_search(configuration: Configuration, depth: int, symmetry: bool) -> None:
    full, less = both(configuration, symmetry, depth=depth)
    if full.error or configuration.variant in CRASH_INSIDE:
        assert less.stopped.startswith("given up")
        return
    assert found(less) == found(full)
    assert len(less.levels) > 12


@pytest.mark.slow(seconds=3)
def test_any_number_of_threads_finds_the_same_states_from_the_same_predecessors() -> None:
    one, three = (ComponentExplorer(components(TWO, True), n) for n in (1, 3))
    assert found(one.run(Limits())) == found(three.run(Limits()))
    assert one.preds == three.preds


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("configuration", [STEPS_BREAK, *([BREAKS] if EVERY else [])], ids=str)
def test_what_is_found_broken_is_broken_by_its_steps(configuration: Configuration) -> None:
    code = components(configuration, True)
    result = ComponentExplorer(code, 2).run(Limits(), keep_going=True)
    assert result.violations
    for violation in result.violations.values():
        before = after = code.model.program.initial().key()
        whole = b""
        for word in violation.schedule:
            whole = dict(code.next_states(after))[word]
            before, after = after, whole[: code.layout.size]
        bit = 1 << code.properties.index(violation.property)
        if violation.property.of == "step":
            assert code.breaks(before, whole, bit)
        else:
            assert code.judged_state(after, bit)[0] == bit


# --- what is remembered -------------------------------------------------------------------------------


def entry_of(explorer: ComponentExplorer, state: bytes) -> tuple[Block, int]:
    code = explorer.code
    entry = Block(code.numbers["ENTRY"])
    control, work = explorer.shared.control.address, explorer.slots[0].work.address
    explorer.shared.make_room()
    return entry, code.enter(code.state(state), entry.address, control, work, code.perms)


def bytes_of(explorer: ComponentExplorer, address: int) -> bytes:
    code = explorer.code
    state = code.state(b"")
    code.materialise(address + code.numbers["IDS_AT"], state, explorer.shared.control.address)
    return bytes(state)[: code.layout.size]


def remembered(explorer: ComponentExplorer, entry: Block) -> list[tuple[int, bytes, bytes]]:
    """The successors of an entry as expanding it finds them, in order: fingerprint, bytes, and the bytes of the
    entry."""
    code = explorer.code
    chunk_of, explorer.wanted = Block(UNIT), (0, 0, 0, 0)
    chunk_of.map[: entry.size] = entry.map[:]
    slot = explorer.slots[0]
    slot.used = 0

    unit = Chunk(chunk_of, code.numbers["ENTRY"], 1), 0
    for group in explorer.groups:
        group.block.map[:] = bytes(group.block.size)
    explorer.place_tables()
    explorer.budget.limit = 1 << 62
    explorer.deadline = float("inf")
    explorer.each(None, explorer.expand, [slot], [unit])
    size = kernel.HEADER + code.numbers["ENTRY"]
    found = []
    for out, filled in slot.outs[: slot.used]:
        for g in range(GROUPS):
            for at in range(g * slot.section, g * slot.section + filled.get(g), size):
                header = bytes(out.map[at : at + kernel.HEADER])
                whole = bytes(out.map[at + kernel.HEADER : at + size])
                after = bytes_of(explorer, out.address + at + kernel.HEADER)
                ordinal = int.from_bytes(header[12:14], "little")
                found.append((ordinal, int.from_bytes(header[:8], "little"), after, whole))
    return [rest for _, *rest in sorted(found)]  # type: ignore[misc]


def differences(explorer: ComponentExplorer, seed: int, walks: int, length: int = 50) -> list[str]:
    """Where what is remembered of a step differs from what the program does, on random walks."""
    code = explorer.code
    size, source = code.layout.size, random.Random(seed)
    wrong = []
    for _ in range(walks):
        data = code.model.program.initial().key()
        for _ in range(length):
            steps = sorted(code.next_states(data), key=lambda step: step[0] >> 16 & 255)
            if not steps:
                break
            entry, _ = entry_of(explorer, data)
            if bytes_of(explorer, entry.address) != data:
                wrong.append("a state is not what its components are")
            told = remembered(explorer, entry)
            if [after[:size] for _, after in steps] != [after for _, after, _ in told]:
                wrong.append("the steps of a state are not those of the program")
            for h, after, whole in told:
                again, fresh = entry_of(explorer, after)
                if h != fresh & (2**64 - 1) or bytes(again.map[: len(whole)]) != whole:
                    wrong.append("what is xored to the lanes is not what the state has")
            data = source.choice(steps)[1][:size]
    return wrong


def explored(code: Components) -> ComponentExplorer:
    """An explorer that remembers all it has met."""
    explorer = ComponentExplorer(code, 1)
    explorer.run(Limits(depth=24), keep_going=True)
    return explorer


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(
    ("configuration", "symmetry"), [(TWO, True), *([(LARGER[2], True), (BREAKS, False)] if EVERY else [])], ids=str
)
def test_what_is_remembered_of_a_step_is_what_the_program_does(configuration: Configuration, symmetry: bool) -> None:
    explorer = explored(components(configuration, symmetry))
    taken = explorer.shared.get(own.M_TAKEN)
    assert differences(explorer, 7, 200 if EVERY else 12) == []
    assert taken > 500


@pytest.mark.slow(seconds=3)
def test_a_key_that_lacks_what_a_step_reads_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Components.lists.func  # type: ignore[attr-defined]

    def blind(self: Components) -> object:
        lists, *rest = right(self)
        promises = self.cut.places_of(self.layout, "promised_epoch")
        n = self.model.configuration.nodes
        return ([read if k < n else read - promises for k, read in enumerate(lists)], *rest)

    monkeypatch.setattr(Components, "lists", property(blind))
    explorer = explored(Components(Model(TWO), DEFAULT, False))
    assert differences(explorer, 7, 3) or explorer.given_up


def test_what_components_are_not_for_is_said() -> None:
    assert why_not_components(Model(SMALL)) == ""
    assert why_not_components(Model(replace(SMALL, nodes=5))) == "more than 4 processes"
    assert "say" in why_not_components(Model(replace(SMALL, network="lossy")))
    assert why_not_components(Model(Configuration("zookeeper"))) != ""


@pytest.mark.slow(seconds=2)
def test_where_a_value_leaves_its_range_the_engine_gives_up() -> None:
    code = Components(Model(replace(TWO, max_epoch=1)), DEFAULT, True)
    result = ComponentExplorer(code, 1).run(Limits())
    assert result.stopped == "given up: a value would leave its range"
    assert not result.complete


def test_the_command_asks_the_usual_engine_where_this_one_gives_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = Compiled(Model(TWO), DEFAULT, True)
    options = {"threads": 1, "keep_going": False}
    found = command.by_components(code, Limits(depth=12), options, time.perf_counter())
    assert found is not None
    assert (found.engine, len(found.levels)) == ("components", 13)
    monkeypatch.setattr(ComponentExplorer, "given_up", property(lambda _: "a reason", lambda *_: None), raising=False)
    assert command.by_components(code, Limits(depth=12), options, time.perf_counter()) is None
    assert "--engine compiled is asked instead of components: a reason" in capsys.readouterr().err
