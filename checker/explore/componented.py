"""Exploring interned components with memoised steps (docs/components.md): the same states, levels and verdicts as the
full search, in less time where there are many of them.

What decides is whether the footprints of a text can be followed (`why_not_components`), not which protocol it is. Where
a value would leave its range, or something else is met that this engine does not do, it gives up, and says why.
"""

from __future__ import annotations

import ctypes
import math
import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import permutations
from typing import Any

from checker.explore import component_kernel as own
from checker.explore import sleep_kernel
from checker.explore.breadth_first import GROUPS, PIECE, UNIT, Chunk, Explorer, Keeper, LevelGroup, Progress, Slot
from checker.explore.compiled import EXPORTS
from checker.explore.components import MOST_COMPONENTS, Cut, NotCut, appended_to, cut_of, listed_of, name_groups
from checker.explore.memory import Block
from checker.explore.reduction import Reducing, why_not_reduced
from checker.explore.result import Exploration, Limits
from invariants.registry import HISTORY, STEP, TERMINAL, Property
from zabspec.language import tree as t
from zabspec.language.footprints import ANYTHING, Conventions, Touch
from zabspec.language.kinds import Seq
from zabspec.language.looks import ACTS, Looks
from zabspec.language.schema import Layout, Role
from zabspec.model import Model

__all__ = ["ComponentExplorer", "Components", "why_not_components"]

I64, PTR = ctypes.c_int64, ctypes.c_void_p
MOST_NODES = 4  # each renaming has a word in every state
MOST_PROPERTIES = 56
NOBODY = 7
WIDTHS = (("load_word", 8), ("load_half", 4), ("load_short", 2), ("", 1))
WHY = {
    own.ERRS: "a value would leave its range",
    own.JUDGING_ERRS: "a property reads past an end",
    own.ESCAPES: "a step changed what it was not known to write",
    own.MANY_PROFILES: "there are too many kinds of step",
    own.MANY_VALUES: "a component has too many values",
    own.UNKNOWN_STEP: "a step is possible whose case is not known",
}


def why_not_components(model: Model, properties: Sequence[Property] = ()) -> str:
    """Why a model is not explored by components, in a sentence; empty: it is."""
    c = model.configuration
    for is_so, why in (
        (c.nodes > MOST_NODES, f"more than {MOST_NODES} processes"),
        (any(p.of == TERMINAL for p in properties), "a property of terminal states"),
        (bool(model.protocol.disks), "a process has something on a disk"),
        (bool(model.protocol.elects), "an election is a step"),
        (bool(model.protocol.actions or model.protocol.changes), "there are steps beside the network's"),
        (bool(c.power_losses), "--power-losses"),
        (bool(model.judged_after), "properties are judged after some steps only"),
    ):
        if is_so:
            return why
    return why_not_reduced(model)


def step_reads(program: t.TypedProgram, layout: Layout, world: Conventions, name: str) -> set[Touch]:
    """What a function that judges steps may read, by the process that takes the step (`a`) where it is of that process,
    else of any."""
    walk = Looks(program, layout, world)
    f = program.functions[name]
    walk.body(f.body, {parameter: (None, frozenset()) for parameter, _ in f.params})
    found = {
        Touch(r.field, tuple("a" if key == ACTS else None for key in r.keys), False)
        for r in walk.reached
        if r.field != ANYTHING and not walk.trouble
    }
    fields = [layout.fields[field] for field in program.reads[name] - {x.field for x in found}]
    return found | {Touch(f.name, (None,) * f.node_axes, False) for f in fields if f.role is not Role.SCRATCH}


class Components(Reducing):
    """A model in machine code that explores by components."""

    also_modules = (sleep_kernel, own)
    exports: Mapping[str, tuple[Any, ...]] = {
        **{name: of for name, of in EXPORTS.items() if name != "expand"},
        "expand_components": (
            I64, PTR, PTR, I64, I64, I64, PTR, PTR, PTR, I64, PTR, PTR, PTR, PTR, PTR, PTR, I64, I64, I64, I64,
        ),
        "resolve": (I64, PTR, PTR, I64, I64, PTR, PTR, PTR),
        "absorb": (None, PTR, PTR),
        "enter": (I64, PTR, PTR, PTR, PTR, PTR),
        "materialise": (None, PTR, PTR, PTR),
        "rehash_memo": (None, PTR, I64, PTR),
        "rehash_good": (None, PTR, I64, PTR),
        "rehash_adds": (None, PTR, I64, PTR),
        "rehash_values": (None, PTR),
    }  # fmt: skip
    quick = False

    expand_components: Any
    resolve: Any
    absorb: Any
    enter: Any
    materialise: Any
    rehash_memo: Any
    rehash_good: Any
    rehash_adds: Any
    rehash_values: Any

    # --- what follows from the text -------------------------------------------------------------------

    @cached_property
    def listed(self) -> dict[int, set[Touch]]:
        """Of each kind of step, what is read where it is listed."""
        return listed_of(self.model.program.typed(("enabled", "apply")), self.layout, self.conventions)

    @cached_property
    def cut(self) -> Cut:
        touches = [touch for of_kind in self.listed.values() for touch in of_kind]
        if any(x.field == ANYTHING for touched in (*self.cases.values(), touches) for x in touched):
            raise NotCut("what some step touches is not known")
        read = [reads for p, reads in self.read_by.items() if p.of != STEP]
        found = cut_of(self.layout, name_groups(self.layout, self.cases, touches, read))
        if len(found.components) > MOST_COMPONENTS:
            raise NotCut(f"a state has {len(found.components)} components, and {MOST_COMPONENTS} are the most")
        return found

    @cached_property
    def typed_properties(self) -> t.TypedProgram:
        front = self.front_end()
        for p in self.properties:
            front.function(p.holds.__name__)
            front.function(p.witness.__name__)
        return front.program

    @cached_property
    def read_by(self) -> dict[Property, frozenset[str]]:
        """The fields that each property and its witness read."""
        reads = self.typed_properties.reads
        return {p: frozenset(reads[p.holds.__name__] | reads[p.witness.__name__]) for p in self.properties}

    @cached_property
    def _reads(self) -> tuple[dict[str, set[int]], list[set[int]], set[Touch]]:
        """The components that each property of states reads, those that properties of steps read of a step of each
        process, and what these read of the process itself."""
        typed = self.typed_properties
        of_state: dict[str, set[int]] = {}
        beyond: list[set[int]] = [set() for _ in range(self.model.configuration.nodes)]
        touches: set[Touch] = set()
        for p, names in self.read_by.items():
            read: set[int] = set().union(*(self.cut.places_of(self.layout, name) for name in names))
            if p.of != STEP:
                of_state[p.name] = read
                continue
            for f in (p.holds.__name__, p.witness.__name__):
                for touch in step_reads(typed, self.layout, self.conventions, f):
                    for a, of_process in enumerate(beyond):
                        of_process |= self.cut.places(self.layout, touch, a)
                looks = Looks(typed, self.layout, self.conventions)
                looks.of_function(typed.functions[f])
                touches |= looks.own
        return of_state, beyond, touches

    @cached_property
    def judged(self) -> list[tuple[set[int], int]]:
        """Sets of components, with the properties of states that read no others."""
        of_state, _, _ = self._reads
        found: list[tuple[set[int], int]] = []
        wide = sorted(of_state.items(), key=lambda item: -len(item[1]))
        for name, read in wide:
            bit = 1 << next(k for k, p in enumerate(self.properties) if p.name == name)
            of = next(p.of for p in self.properties if p.name == name)
            for k, (held, mask) in enumerate(found):
                if read <= held and (of != HISTORY or len(held) - len(read) <= 3):
                    found[k] = held, mask | bit
                    break
            else:
                found.append((read, bit))
        return found

    @cached_property
    def sequences(self) -> dict[int, Seq]:
        """The components that are a sequence each, whose length is a byte."""
        found = {}
        for k, c in enumerate(self.cut.components):
            names = self.cut.groups[c.group]
            kind = self.layout.fields[names[0]].kind
            if len(names) == 1 and isinstance(kind, Seq) and kind.header == 1 and not kind.bag and len(c.runs) == 1:
                if self.layout.plain_count(self.layout.fields[names[0]]) == 1:
                    found[k] = kind
        return found

    @cached_property
    def lists(self) -> tuple[list[set[int]], list[int], list[int], list[int]]:
        """The components of every key: of each process, what listing its steps reads; of each case and its processes
        what a step of it touches; of each set of properties what they read; and what properties of steps read. Then
        which of the second are of which case, what may be written there, and what is only appended to."""
        n = self.model.configuration.nodes
        layout, cut, world = self.layout, self.cut, self.conventions
        _, beyond, own_reads = self._reads
        lists: list[set[int]] = []
        for p in range(n):
            read: set[int] = set(cut.places(layout, Touch(world.follows, ("a",), False), p))
            for touches in self.listed.values():
                for touch in touches:
                    read |= cut.places(layout, touch, p)
            for name, by in world.channels.values():
                read |= cut.places(layout, Touch(name, by, False), p)
            lists.append(read)
        keyed = [0] * (64 * len(self.cases))
        writes, appends = [0] * n, [0] * n
        program = self.model.program.typed(("enabled", "apply"))
        appended = appended_to(program, layout, world, self.cases)
        sequences = set(self.sequences)
        for number, (case, touched) in enumerate(self.cases.items()):
            only = {name for name in appended[case] if cut.places_of(layout, name) <= sequences}
            for a in range(n):
                for b in (*range(n), NOBODY):
                    reach: set[int] = set()
                    added: set[int] = set()
                    written = 0
                    for touch in (*touched, *own_reads):
                        places = cut.places(layout, touch, a, None if b == NOBODY else b)
                        if touch.writes:
                            written |= sum(1 << k for k in places)
                        if touch.field in only and touch.writes:
                            added |= places
                        else:
                            reach |= places
                    # the case and its processes are in the key by its list, each of which has a salt of its own
                    keyed[64 * number + 8 * a + b] = len(lists)
                    lists.append(reach)
                    writes.append(written)
                    appends.append(sum(1 << k for k in added - reach))
        lists += [read for read, _ in self.judged]
        lists += beyond
        return lists, keyed, writes, appends

    @cached_property
    def numbers(self) -> dict[str, int]:
        n = dict(super().numbers)
        nodes, total, most = n["NODES"], n["TOTAL"], self.model.most_steps
        lanes = math.factorial(nodes) if self.symmetry else 1
        count = len(self.cut.components)
        widest = max(8 * -(-c.size // 8) for c in self.cut.components)
        n["COMPONENTS"] = count
        n["LANES"] = lanes
        n["IDS_AT"] = 8 * lanes
        n["ENTRY"] = 8 * lanes + 8 * -(-2 * count // 8)
        n["KNOWN_CASES"] = len(self.cases)
        n["WIDEST"] = widest
        n["ADDITION"] = -(-(2 + lanes) // 8) * 8
        n["VALUED"] = own.VALUE + lanes
        many = 8 * own.TOGETHER * (most + nodes + 1)
        at = n["WORK"]
        for name, size in (
            ("CHILD_AT", total), ("ALONE_AT", total), ("VALUE_AT", widest), ("TAKEN_AT", many), ("KEYS_AT", many),
            ("LISTED_AT", 8 * own.TOGETHER * nodes), ("PLACES_AT", 8 * own.TOGETHER),
            ("BEGINS_AT", 8 * (own.TOGETHER + 1)), ("JUDGING_AT", 24 * (own.AT_ONCE + 2 + len(self.judged))),
            ("SUMS_AT", 8 * lanes), ("ASKING_AT", 40 * (own.AT_ONCE + 3)), ("LINE_AT", 8 * own.LINE * own.LINED),
            ("PROFILES_AT", 8 * own.MOST_PROFILES),
        ):  # fmt: skip
            n[name] = at
            at += -(-size // 64) * 64
        n["WORK"] = at
        n["MARGIN"] = (most + own.LINE) * (self.header + n["ENTRY"])
        lists, _, writes, _ = self.lists
        words = 0
        runs = sum(len(c.runs) for c in self.cut.components)
        for name, size in (
            ("D_RUNS", 2 * count), ("D_SIZES", count + 1), ("D_STARTS", count + 1), ("D_RENAMED", lanes * count),
            ("D_KEYED", 64 * len(self.cases)), ("D_WRITES", len(writes)), ("D_APPENDS", len(writes)),
            ("D_ELEMENTS", 2 * count), ("D_APPEND", 4), ("D_JUDGED", 3 * len(self.judged)),
            ("D_LISTS", 3 * len(lists)), ("D_BEYOND", 1), ("D_PLACES", 2 * runs),
            ("D_KEYS", sum(2 * len(x) for x in lists)),
        ):  # fmt: skip
            n[name] = words
            words += size
        n["DESC"] = words
        n["JUDGED"] = len(self.judged)
        n["BEYOND"] = len(lists) - nodes
        n["MOST_NEW"] = 1 << 13
        n["MOST_RECORD"] = 1 << 17
        n["MOST_BYTES"] = 8 * (1 << 13) * 8
        return n

    @property
    def description(self) -> list[int]:
        """The words that tell the kernel of the cut and the keys."""
        n, cut = self.numbers, self.cut
        source = random.Random(12)
        words = [0] * n["DESC"]
        lists, keyed, writes, appends = self.lists
        at = n["D_PLACES"]
        for k, c in enumerate(cut.components):
            words[n["D_RUNS"] + 2 * k] = at
            words[n["D_RUNS"] + 2 * k + 1] = len(c.runs)
            words[n["D_SIZES"] + k] = -(-c.size // 8)
            words[n["D_STARTS"] + k] = source.getrandbits(64) | 1
            for run in c.runs:
                words[at : at + 2] = run
                at += 2
        renamings = list(permutations(range(n["NODES"]))) if self.symmetry else [tuple(range(n["NODES"]))]
        for which, permutation in enumerate(renamings):
            start = n["D_RENAMED"] + which * len(cut.components)
            words[start : start + len(cut.components)] = cut.renamed(permutation)
        words[n["D_KEYED"] : n["D_KEYED"] + len(keyed)] = keyed
        words[n["D_WRITES"] : n["D_WRITES"] + len(writes)] = writes
        words[n["D_APPENDS"] : n["D_APPENDS"] + len(appends)] = appends
        words[n["D_SIZES"] + len(cut.components)] = n["WIDEST"] // 8
        words[n["D_STARTS"] + len(cut.components)] = source.getrandbits(64) | 1
        words[n["D_APPEND"] : n["D_APPEND"] + 4] = [source.getrandbits(64) | 1 for _ in range(4)]
        for k, kind in self.sequences.items():
            words[n["D_ELEMENTS"] + 2 * k : n["D_ELEMENTS"] + 2 * k + 2] = kind.element.size, kind.capacity
        constants = [source.getrandbits(64) | 1 for _ in cut.components]
        at = n["D_KEYS"]
        for which, read in enumerate(lists):
            start = at
            for k in sorted(read):
                words[at : at + 2] = [2 * k, constants[k]]
                at += 2
            words[n["D_LISTS"] + 3 * which : n["D_LISTS"] + 3 * which + 3] = [start, at, source.getrandbits(64) | 1]
        for j, (read, mask) in enumerate(self.judged):
            first = n["BEYOND"] - len(self.judged)
            words[n["D_JUDGED"] + 3 * j : n["D_JUDGED"] + 3 * j + 3] = [first + j, sum(1 << k for k in read), mask]
        words[n["D_BEYOND"]] = source.getrandbits(64) | 1
        return [w - (1 << 64) if w >> 63 else w for w in words]

    def also_text(self) -> str:
        lanes = self.numbers["LANES"]
        after = ["def fingerprint_after(entry: Bytes, records: Words, r: int) -> int:"]
        after.append("    h = load_word(entry, 0) ^ records[r]")
        after += [f"    h = wrap_add(h, load_word(entry, {8 * k}) ^ records[r + {k}])" for k in range(1, lanes)]
        after.append("    return h")
        again = ["def rewrite_lanes(entry: Bytes, records: Words, r: int) -> int:"]
        again += ["    x = load_word(entry, 0) ^ records[r]", "    store_word(entry, 0, x)", "    same = 1"]
        for k in range(1, lanes):
            again += [f"    y = load_word(entry, {8 * k}) ^ records[r + {k}]", f"    store_word(entry, {8 * k}, y)"]
            again.append("    same = same + (1 if x == y else 0)")
        again.append("    return same")
        texts = ("\n".join(after), "\n".join(again), self.view_text(), self.materialise_text(), self.changed_text())
        return "\n\n\n".join((super().also_text(), *texts))

    def view_text(self) -> str:
        """`view_keys`: the keys under which it is remembered which steps are possible at each process."""
        words, n = self.description, self.numbers
        lines = ["def view_keys(ids: Bytes, keys: Words, at: int) -> None:"]
        for k in sorted(set().union(*self.lists[0][: n["NODES"]])):
            constant = words[self.description_at(k)]
            lines.append(f"    x{k} = wrap_mul(load_short(ids, {2 * k}), {constant})")
        for p in range(n["NODES"]):
            total = str(words[n["D_LISTS"] + 3 * p + 2])
            for k in sorted(self.lists[0][p]):
                total = f"wrap_add({total}, x{k})"
            lines.append(f"    keys[at + {p}] = {total}")
        return "\n".join(lines)

    def description_at(self, component: int) -> int:
        """Where a component's constant stands in some list of the description."""
        at = self.numbers["D_KEYS"]
        for read in self.lists[0]:
            ordered = sorted(read)
            if component in read:
                return at + 2 * ordered.index(component) + 1
            at += 2 * len(read)
        raise KeyError(component)

    def materialise_text(self) -> str:
        """`materialise`: the state of an entry in the ordinary layout, with nothing said of a step."""
        lines = [
            "def materialise(ids: Bytes, s: State, mem: Bytes) -> None:",
            "    m = words_at(mem, 0)",
            "    values = words_at(mem, m[M_LANES])",
            "    numbered = bytes_of(mem, m[M_NUMBERED])",
            "    held = bytes_of(mem, m[M_VALUES])",
            "    b = as_bytes(s)",
            f"    zero_bytes(b, {self.layout.total})",
        ]
        for k, c in enumerate(self.cut.components):
            lines.append(f"    at = values[VALUED * load_half(numbered, 4 * ({k << 16} | load_short(ids, {2 * k})))]")
            place = 0
            for offset, size in c.runs:
                lines.append(f"    copy_bytes(bytes_of(b, {offset}), bytes_of(held, at + {place}), {size})")
                place += size
        return "\n".join(lines)

    def changed_text(self) -> str:
        """`changed_components`: which components of two states differ, as a set."""
        lines = ["def changed_components(a: Bytes, b: Bytes) -> int:", "    found = 0"]
        for k, c in enumerate(self.cut.components):
            lines.append("    d = 0")
            for offset, size in c.runs:
                at, end = offset, offset + size
                while at < end:
                    name, step = next((x, w) for x, w in WIDTHS if w <= end - at)
                    one, other = (f"{name}({v}, {at})" if name else f"{v}[{at}]" for v in "ab")
                    lines.append(f"    d = d | ({one} ^ {other})")
                    at += step
            lines += ["    if d != 0:", f"        found = found | {1 << k if k < 63 else -(1 << 63)}"]
        return "\n".join([*lines, "    return found"])

    def also_key(self) -> tuple[object, ...]:
        return ("components", *super().also_key())

    def also_facts(self, typed: t.TypedProgram) -> dict[str, Any]:
        return {}


class Shared:
    """What all threads share: values, records of steps, and what is remembered."""

    def __init__(self, code: Components) -> None:
        self.code = code
        n = code.numbers
        self.control = Block(8 * (own.M_DESC + n["DESC"]))
        words = code.description
        ctypes.memmove(self.control.address + 8 * own.M_DESC, (ctypes.c_int64 * len(words))(*words), 8 * len(words))
        self.control.put(own.M_USED, 8)
        self.blocks: dict[int, Block] = {}
        self.place(own.M_MEMO, Block(8 << 16))
        self.control.put(own.M_BITS, 16)
        self.place(own.M_GOOD, Block(8 << 16))
        self.control.put(own.M_GOOD_BITS, 16)
        self.place(own.M_ADDS, Block(8 << 12))
        self.control.put(own.M_ADD_BITS, 12)
        self.place(own.M_ADDED, Block(8 << 15))
        self.control.put(own.M_ADDED_LIMIT, 1 << 15)
        self.control.put(own.M_ADDED_USED, 8)
        self.place(own.M_RECORDS, Block(8 << 19, huge=True))
        self.control.put(own.M_RECORD_LIMIT, 1 << 19)
        self.place(own.M_VALUES, Block(1 << 21))
        self.control.put(own.M_VALUE_LIMIT, 1 << 21)
        self.place(own.M_LANES, Block(8 * n["VALUED"] << 15))
        self.control.put(own.M_COUNT_LIMIT, 1 << 15)
        self.place(own.M_INTERN, Block(8 << 16))
        self.control.put(own.M_INTERN_BITS, 16)
        self.place(own.M_NUMBERED, Block(4 * 65536 * (n["COMPONENTS"] + 1)))

    def get(self, word: int) -> int:
        return self.control.get(word)

    def place(self, word: int, block: Block) -> Block | None:
        """Have the kernel use a block; returns the one that it used."""
        old = self.blocks.get(word)
        self.blocks[word] = block
        self.control.put(word, block.address - self.control.address)
        return old

    def larger(self, word: int, limit: int, unit: int) -> None:
        """Twice the room for what only grows."""
        old = self.blocks[word]
        block = Block(2 * unit * self.get(limit), huge=True)
        ctypes.memmove(block.address, old.address, unit * self.get(limit))
        self.place(word, block)
        self.control.put(limit, 2 * self.get(limit))

    def make_room(self) -> None:
        """Make room for what one more state may need."""
        n = self.code.numbers
        while self.get(own.M_USED) + n["MOST_RECORD"] > self.get(own.M_RECORD_LIMIT):
            self.larger(own.M_RECORDS, own.M_RECORD_LIMIT, 8)
        while self.get(own.M_VALUE_USED) + n["MOST_BYTES"] > self.get(own.M_VALUE_LIMIT):
            self.larger(own.M_VALUES, own.M_VALUE_LIMIT, 1)
        while self.get(own.M_COUNT) + n["MOST_NEW"] > self.get(own.M_COUNT_LIMIT):
            self.larger(own.M_LANES, own.M_COUNT_LIMIT, 8 * n["VALUED"])
            bits = self.get(own.M_INTERN_BITS) + 1
            self.place(own.M_INTERN, Block(8 << bits, huge=True))
            self.control.put(own.M_INTERN_BITS, bits)
            self.code.rehash_values(self.control.address)
        self.rehashed(own.M_MEMO, own.M_BITS, own.M_ENTRIES, self.code.rehash_memo)
        while self.get(own.M_ADDED_USED) + n["MOST_NEW"] > self.get(own.M_ADDED_LIMIT):
            self.larger(own.M_ADDED, own.M_ADDED_LIMIT, 8)
        self.rehashed(own.M_ADDS, own.M_ADD_BITS, own.M_ADD_ENTRIES, self.code.rehash_adds)
        self.rehashed(own.M_GOOD, own.M_GOOD_BITS, own.M_GOOD_ENTRIES, self.code.rehash_good)

    def rehashed(self, word: int, wide: int, entries: int, move: Any) -> None:
        """A table with twice the room for as long as it is more than two fifths full."""
        while 5 * self.get(entries) > 2 << self.get(wide):
            bits = self.get(wide)
            old = self.place(word, Block(8 << (bits + 1), huge=True))
            assert old is not None
            self.control.put(wide, bits + 1)
            move(old.address, bits, self.control.address)


class ComponentExplorer(Explorer):
    """Explores a model compiled by components."""

    code: Components
    batch = 6  # entries are larger than packed states: so many stay in the caches until they are inserted

    def __init__(self, compiled: Components, threads: int = 0) -> None:
        super().__init__(compiled, threads)
        self.shared = Shared(compiled)
        self.number = {id(slot): k for k, slot in enumerate(self.slots)}
        self.given_up = ""
        most = UNIT // compiled.numbers["ENTRY"] + 2
        self.missed = [Block(8 * most) for _ in self.slots]
        self.logs = [Block(8 * (own.MOST_LOGGED + 2)) for _ in self.slots]
        self.contiguous = Block(64)
        self.contiguous.put(0, -1)

    def run(
        self, limits: Limits, keep_going: bool = False, progress: Progress | None = None, keeper: Keeper | None = None
    ) -> Exploration:
        """As the full search, but that no level is kept."""
        assert keeper is None
        result = super().run(limits, keep_going, progress)
        result.engine = "components"
        return result

    def first_level(self) -> list[LevelGroup]:
        level = super().first_level()
        code, initial = self.code, self.code.model.program.initial().key()
        fingerprint = 0
        for group in self.groups:  # the classical fingerprint of the initial state
            group.block.map[:] = bytes(group.block.size)
            group.count = 0
        chunk = Chunk(Block(UNIT))
        assert chunk.block is not None
        slot = self.slots[0]
        fingerprint = code.enter(
            code.state(initial), chunk.block.address, self.shared.control.address, slot.work.address, code.perms
        )
        g = (fingerprint >> 60) & 15
        place = (((fingerprint << 4) & (2**64 - 1)) * self.groups[g].capacity) >> 64
        self.groups[g].block.put(place, fingerprint)
        self.groups[g].count = 1
        chunk.used, chunk.count = code.numbers["ENTRY"], 1
        for old in level:
            old.chunks.clear()
            old.info.put(2, 0)
        level[g].chunks.append(chunk)
        level[g].info.put(2, 1)
        return level

    # --- the phases of a batch ---------------------------------------------------------------------------

    def expand(self, slot: Slot, unit: tuple[Chunk, int]) -> None:
        chunk, _ = unit
        slot.used = 0
        number = self.number[id(slot)]
        self.missed[number].put(0, 0)
        self.expand_entries(slot, unit, self.contiguous, chunk.count, chunk.start)

    def expand_missed(self, slot: Slot, unit: tuple[Chunk, int]) -> None:
        number = self.number[id(slot)]
        picks = Block(8 * (self.missed[number].get(0) + 2))
        ctypes.memmove(picks.address, self.missed[number].address, 8 * (self.missed[number].get(0) + 1))
        self.missed[number].put(0, 0)
        self.expand_entries(slot, unit, picks, picks.get(0), 0)
        assert not self.missed[number].get(0), "what was found out is not remembered"

    def expand_entries(self, slot: Slot, unit: tuple[Chunk, int], picks: Block, count: int, start: int) -> None:
        chunk, first = unit
        code = self.code
        assert chunk.block is not None
        number = self.number[id(slot)]
        live, live_steps, want, want_steps = self.wanted
        done = 0
        out, filled = slot.next_out()
        while done < count and time.perf_counter() < self.deadline:
            asked = min(PIECE, count - done)
            made = code.expand_components(
                chunk.block.address, picks.address, start + done, asked, first,
                self.groups[0].block.address, self.where.address, out.address, slot.section, filled.address,
                slot.work.address, slot.report.address, self.shared.control.address, self.logs[number].address,
                self.missed[number].address, live, live_steps, want, want_steps,
            )  # fmt: skip
            done += made
            if made < asked or filled.get(GROUPS):
                out, filled = slot.next_out()

    def expand_all(self, level: list[LevelGroup], new: list[LevelGroup], pool: ThreadPoolExecutor | None) -> None:
        self.level = level
        super().expand_all(level, new, pool)

    def each(self, pool: ThreadPoolExecutor | None, function: Any, *items: Sequence[object]) -> None:  # type: ignore[override]
        super().each(pool, function, *items)
        if function == self.expand:
            slots, units = items
            self.resolve_missed(slots, units)  # type: ignore[arg-type]
            again = [(s, u) for s, u in zip(slots, units, strict=True) if self.missed[self.number[id(s)]].get(0)]
            if again and not self.given_up:
                super().each(pool, self.expand_missed, *zip(*again, strict=True))

    def resolve_missed(self, slots: Sequence[Slot], units: Sequence[tuple[Chunk, int]]) -> None:
        """Find out what was not remembered, state by state in their order."""
        code, shared = self.code, self.shared
        for slot, (chunk, _) in zip(slots, units, strict=True):
            number = self.number[id(slot)]
            shared.make_room()
            code.absorb(self.logs[number].address, shared.control.address)
            missed = self.missed[number]
            count, done = missed.get(0), 0
            while done < count:
                shared.make_room()
                assert chunk.block is not None
                done = code.resolve(
                    chunk.block.address, missed.address + 8, done, count, shared.control.address,
                    self.slots[0].work.address, code.perms,
                )  # fmt: skip
                if shared.get(own.M_WHY):
                    self.given_up = WHY[shared.get(own.M_WHY)]
                    return

    def cut_short(self) -> bool:
        if self.given_up:
            self.result.stopped = f"given up: {self.given_up}"
            return True
        return super().cut_short()

    # --- what is reported --------------------------------------------------------------------------------

    def collect_counts(self) -> None:
        super().collect_counts()
        r, code = self.result, self.code
        steps = dict.fromkeys(code.steps, 0)
        events: dict[int, int] = {}
        at = code.numbers["PROFILES_AT"] // 8
        for profile in range(self.shared.get(own.M_PROFILES)):
            taken = sum(slot.work.get(at + profile) for slot in self.slots)
            event, entered = self.shared.control.words(own.M_PROFILE + 2 * profile, 2)
            if taken:
                events[event] = events.get(event, 0) + taken
            for k, name in enumerate(code.steps):
                if entered >> k & 1:
                    steps[name] += taken
        r.step_counts, r.event_counts = steps, dict(sorted(events.items()))

    def schedule_to(self, depth: int, index: int, last: int | None = None, broken: int = 0) -> tuple[int, ...]:
        """The steps of the way by which a state was found: they are those of the states as they were found."""
        code = self.code
        way = self.ordinals_to(depth, index) + ([] if last is None else [last])
        size = code.layout.size
        data = code.model.program.initial().key()
        words: list[int] = []
        for ordinal in way:
            steps = sorted(code.next_states(data), key=lambda step: step[0] >> 16 & 255)
            word, after = steps[ordinal]
            words.append(word)
            data = after[:size]
        return tuple(words)
