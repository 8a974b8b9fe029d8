"""Compile a model to machine code: the program, functions generated from its schema, properties and the kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any, Self

from checker.explore import interface, kernel, orbits
from checker.explore.binding import check_bindings, functions_of
from checker.explore.memory import Block
from checker.explore.stuttering import EVERY_STEP, stutters_text, why_every_receipt
from checker.explore.symmetry import Asymmetric, NotRenamings, asymmetry, why_not_symmetric
from invariants.binding import full_namespace, refuse_scratch
from invariants.registry import HISTORY, STEP, TERMINAL, Property
from zabspec.authoring.checks import is_ours
from zabspec.authoring.declaration import ConfigError, ProtocolError, said_at
from zabspec.language.analysis.tree import TypedProgram
from zabspec.language.front import frontend
from zabspec.language.layout import derive
from zabspec.language.layout.cache_key import compiler_digest, digest_of, program_digest
from zabspec.language.layout.error_sites import site_number
from zabspec.language.layout.place import SourcePlace
from zabspec.language.layout.source import from_here
from zabspec.language.native import llvm_text
from zabspec.language.native.jit import MachineCode, has_bit_gather
from zabspec.language.native.tiered import TieredCode
from zabspec.language.program import own_names
from zabspec.language.python.reference import StateView
from zabspec.model import Model
from zabspec.properties import DEADLOCK
from zabspec.starts import Schedule

I64, PTR = ctypes.c_int64, ctypes.c_void_p
GENERATED = "<derived from the schema>"

EXPORTS: dict[str, tuple[Any, ...]] = {
    "expand": (I64, PTR, I64, I64, I64, PTR, PTR, PTR, I64, PTR, PTR, PTR, PTR, I64, I64, I64, I64),
    "insert": (I64, PTR, I64, I64, PTR, I64, PTR, I64, PTR, PTR, PTR),
    "rehash": (None, PTR, I64, PTR, I64),
    "successors": (I64, PTR, PTR, I64, PTR),
    "fingerprint": (I64, PTR, PTR, PTR, PTR),
    "states_of_orbit": (I64, PTR),
    "renamed": (None, PTR, PTR, PTR),
    "take": (None, PTR, I64),
    "pack_state": (I64, PTR, PTR),
    "unpack_state": (I64, PTR, PTR),
    "look_at_one_state": (I64, PTR, I64, PTR, I64),
    "judge_one_step": (None, PTR, PTR, PTR, I64, I64),
}


def taken_name(name: str, held: object) -> ConfigError:
    """Return the error for a name of the explorer that a program defines otherwise: where, and what to do."""
    said = f"{name} is a name of the explorer: rename yours"
    if not isinstance(held, FunctionType):
        return ConfigError(f"{said} (it is {held})")
    if is_ours(held):
        return ConfigError(f"{said} (in {held.__module__})")
    place = SourcePlace(held.__code__.co_filename, held.__code__.co_firstlineno)
    return ProtocolError(f"{place.text}: {said}", place)


def judge_text(properties: Sequence[Property], history_reads: set[str], premises: bool = False) -> str:
    """Return the kernel source that judges a state, or a step, by the given properties.

    Bit k of every mask is the k-th property. A property that reads nothing but the observed history is judged only
    where that changed (`history_reads` names those). With `premises` a run ends where the premise of a property is met,
    as if that were a violation.
    """

    def ends(p: Property, given: str) -> str:
        return f"{p.witness.__name__}({given})" if premises else f"not {p.holds.__name__}({given})"

    lines = ["def judge(s: State, live: int, changed: bool) -> int:", "    broken = 0"]
    again = ["def witness(s: State, want: int, changed: bool) -> int:", "    met = 0"]
    for gated in (True, False):
        indent = "        " if gated else "    "
        body: list[str] = []
        meet: list[str] = []
        for k, p in enumerate(properties):
            if p.of == STEP or (p.holds.__name__ in history_reads) != gated:
                continue
            body += [
                f"{indent}if (live & {1 << k}) != 0 and {ends(p, 's')}:",
                f"{indent}    broken = broken | {1 << k}",
            ]
            meet += [
                f"{indent}if (want & {1 << k}) != 0 and {p.witness.__name__}(s):",
                f"{indent}    met = met | {1 << k}",
            ]
        if gated and body:
            lines.append("    if changed:")
            again.append("    if changed:")
        lines += body
        again += meet
    lines += ["    return broken"]
    again += ["    return met"]
    step = ["def judge_step(before: State, after: State, live: int) -> int:", "    broken = 0"]
    premise = ["def witness_step(before: State, after: State, want: int) -> int:", "    met = 0"]
    for k, p in enumerate(properties):
        if p.of == STEP:
            step += [
                f"    if (live & {1 << k}) != 0 and {ends(p, 'before, after, after')}:",
                f"        broken = broken | {1 << k}",
            ]
            premise += [
                f"    if (want & {1 << k}) != 0 and {p.witness.__name__}(before, after, after):",
                f"        met = met | {1 << k}",
            ]
    step.append("    return broken")
    premise.append("    return met")
    return "\n\n\n".join("\n".join(text) for text in (lines, again, step, premise))


def same_text(size: int) -> str:
    """Return the kernel source of whether a step left the observed history unchanged."""
    lines = [
        "def observed_changed(before: State, after: State) -> bool:",
        "    a = as_bytes(before)",
        "    b = as_bytes(after)",
        "    d = 0",
    ]
    lines += [f"    d = d | (load_word(a, {k}) ^ load_word(b, {k}))" for k in range(0, size, 8)]
    lines.append("    return d != 0")
    return "\n".join(lines)


def after_text(properties: Sequence[Property], steps: Sequence[str], after: Mapping[str, Collection[str]]) -> str:
    """Return the kernel source of which relevant steps were entered, and which state properties they may change.

    At most 15 steps are relevant. Without any, every property may change at any step.
    """
    what, lines = ["def what_changed(s: State) -> int:"], ["def judged_after(entered: int) -> int:"]
    if not after:
        return "\n".join([*what, "    return 0", "", "", *lines, "    return -1"])
    bits = [f"(((s.steps >> {steps.index(name)}) & 1) << {k})" for k, name in enumerate(after)]
    lines.append("    asked = 0")
    for k, names in enumerate(after.values()):
        mask = sum(1 << j for j, p in enumerate(properties) if p.name in names)
        lines += [f"    if (entered & {1 << k}) != 0:", f"        asked = asked | {mask}"]
    return "\n".join([*what, f"    return {' | '.join(bits)}", "", "", *lines, "    return asked"])


def words_of_orbits(nodes: int) -> int:
    """Return how many words `orbits.canonical` works in: those that its offsets count, for as many levels."""
    return 4 * nodes + 1 + nodes * (2 * nodes + 5)


class Compiled:
    """A model in machine code.

    Args:
        model: what is explored.
        properties: what is judged, in the order of the bits of every mask.
        symmetry: whether states that are renamings of each other count once.
        every_step: whether stuttering receipts are steps like others.

    Attributes:
        stuttering_off: why stuttering receipts are steps like others; empty if they are left out.

    Raises:
        ValueError: there are more properties than a candidate has bits for: violations of the others would be missed.
        Asymmetric: symmetry is requested, and the source distinguishes processes.
    """

    # further kernels of another explorer, or replacements
    exports: Mapping[str, tuple[Any, ...]] = EXPORTS
    header: int = kernel.CANDIDATE
    quick = True  # fast-compiled code is enough at first: the caller reports how long it has worked
    also_modules: tuple[ModuleType, ...] = ()
    premises = False  # whether meeting a premise takes the place of a violation

    def also_text(self) -> str:
        """Return further kernel source that follows from the schema."""
        return ""

    def also_names(self, names: dict[str, Any]) -> None:
        """Add the functions and constants that kernels are bound to beside those of the program."""

    def also_key(self) -> tuple[object, ...]:
        """Return further values that the machine code depends on."""
        return (self.also_text(),)

    def __init__(self, model: Model, properties: Sequence[Property], symmetry: bool, every_step: bool = False) -> None:
        self.model = model
        self.every_step = every_step
        self.properties = tuple(properties)
        most = kernel.MOST_PROPERTIES
        if len(self.properties) > most:
            raise ValueError(f"{len(self.properties)} properties; the kernel can judge {most} at once")
        self.symmetry = symmetry
        self.layout = model.program.layout
        self.renaming_table = derive.RenamingTable(model.configuration.nodes)
        self.perms = self.tables(self.layout.schema.group if symmetry else ())
        self._settling = TieredCode(self._key(), self._make, self._examine, self.quick)
        code = self._settling.code
        self._bind(code)
        self.sites: list[str] = code.facts["sites"]
        self.steps: list[str] = code.facts["steps"]
        self.asymmetry: str = code.facts["asymmetry"]
        self.stuttering_off: str = code.facts["stuttering_off"]

    @classmethod
    def of(
        cls, model: Model, properties: Sequence[Property], symmetry: bool, every_step: bool = False
    ) -> tuple[Self, str]:
        """Return a model compiled with symmetry if that is requested and sound, else without, and why it is not sound.

        The reason is a sentence; empty if symmetry is sound, or was not requested.
        """
        try:
            code = cls(model, properties, symmetry, every_step)
        except Asymmetric as reason:
            return cls(model, properties, False, every_step), str(reason)
        if code.asymmetry:
            return cls(model, properties, False, every_step), code.asymmetry
        return code, ""

    @cached_property
    def identity(self) -> str:
        """A digest of everything that determines its answers, except limits: sources, sizes, properties, compiler."""
        return self._key()

    def _key(self) -> str:
        """Return a digest of everything that determines the machine code."""
        model, program = self.model, self.model.program
        names = full_namespace(model)
        for module in self.kernels:
            names |= {f"{module.__name__}.{name}": value for name, value in own_names(module).items()}
        kinds = [kind for kind in type(self).__mro__ if kind is not object]
        return digest_of(
            program_digest(self.layout, names, program.types, program.handlers, program.steps),
            compiler_digest(*(kind.__module__ for kind in kinds)),
            [vars(kind)["exports"] for kind in kinds if "exports" in vars(kind)],
            [(p.name, p.of, p.holds.__name__, p.witness.__name__) for p in self.properties],
            (self.symmetry, self.skips_stuttering, self.numbers, self.also_key()),
            (model.judged_after, model.generated_files),
        )

    def _bind(self, code: MachineCode) -> None:
        self.code = code
        for name, (result, *arguments) in self.exports.items():
            setattr(self, name, code.function(name, result, *arguments))

    def _examine(self, code: MachineCode) -> dict[str, str]:
        self._bind(code)
        return {"asymmetry": why_not_symmetric(self) if self.symmetry else ""}

    def worked(self, seconds: float, left: float) -> bool:
        """Add CPU time; return whether optimised code is used from here on (`Settling.worked`)."""
        faster = self._settling.worked(seconds, left)
        if faster:
            self._bind(self._settling.code)
        return faster

    expand: Any
    insert: Any
    rehash: Any
    successors: Any
    fingerprint: Any
    states_of_orbit: Any
    renamed: Any
    take: Any
    pack_state: Any
    unpack_state: Any
    look_at_one_state: Any
    judge_one_step: Any

    @property
    def terminals(self) -> int:
        """The properties of terminal states, as a mask."""
        return sum(1 << k for k, p in enumerate(self.properties) if p.of == TERMINAL)

    @property
    def stuttering_steps(self) -> bool | None:
        """Whether stuttering receipts were requested as steps like others; None if there are none."""
        return self.every_step if derive.may_stutter(self.layout) else None

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Sizes and offsets that the kernel refers to by name: the constants of `interface.py`."""
        total, n = self.layout.total, self.model.configuration.nodes
        ring = kernel.RING
        limit = derive.packed_limit(self.layout)
        steps_at = total
        meta_at = steps_at + 8 * (self.model.most_steps + 1)
        quiet_at = meta_at + 8 * 4 * ring
        colour_at = quiet_at + 8 * (self.model.most_steps + 1 if self.terminals else 0)
        renaming_at = colour_at + 8 * words_of_orbits(n)
        table = self.renaming_table.size
        spare_at = renaming_at + (orbits.RENAMING_ROWS * table if self.symmetry else 0)
        ring_at = spare_at + total
        image_at = ring_at + ring * total
        return {
            "SYMMETRY": self.symmetry,
            "MERGES": False,
            "NODES": n,
            "RENAMINGS": self.model.configuration.renamings if self.symmetry else 1,
            "TOTAL": total,
            "STEPS_AT": steps_at,
            "META_AT": meta_at,
            "QUIET_AT": quiet_at,
            "TERMINALS": self.terminals,
            "COLOUR_AT": colour_at,
            "RENAMING_AT": renaming_at,
            "SPARE_AT": spare_at,
            "RING_AT": ring_at,
            "IMAGE_AT": image_at,
            "HEADER": self.header,
            "MARGIN": (self.model.most_steps + ring) * (self.header + limit),
            "PACKED_LIMIT": limit,
            "PROPERTIES": len(self.properties),
            **({"GROUP": len(self.layout.schema.group), "PERM_SIZE": table} if self.symmetry else {}),
        }

    @property
    def work(self) -> int:
        """The number of bytes that a thread of the kernel works in."""
        return self.numbers["IMAGE_AT"] + kernel.RING * self.layout.total

    @property
    def skips_stuttering(self) -> bool:
        """Whether stuttering receipts are left out, unless a property can see what is in flight."""
        return derive.may_stutter(self.layout) and not self.every_step

    def front_end(self) -> frontend.FrontEnd:
        """Return a front end that types the functions of the model, each once, with its names."""
        return self.model.program.front_end(full_namespace(self.model))

    def typed_namespace(self, reads: frontend.FrontEnd | None = None) -> dict[str, Any]:
        """Return every name that the compiled code refers to, generated functions included.

        Args:
            reads: whether to type the properties, if that has not been done; their names are included from then on.
        """
        reads = reads or self.front_end()
        names = dict(reads.namespace)
        self.also_names(names)
        observed = {f.name for f in self.layout.schema.fields if f.observed}
        history = set()
        for p in self.properties:
            if p.of != STEP:
                reads.function(p.holds.__name__)
                reads.function(p.witness.__name__)
                touched = reads.program.reads[p.holds.__name__] | reads.program.reads[p.witness.__name__]
                if touched <= observed and p.of != TERMINAL:
                    history.add(p.holds.__name__)
                elif p.of == HISTORY:
                    what = ", ".join(sorted(touched - observed))
                    raise ConfigError(f"{said_at(p.holds)}{p.name} is over the history, and reads {what}")
        refuse_scratch(self.model, self.properties, reads.program.reads)
        why = why_every_receipt(self.model, self.properties, reads)
        self.why_off = EVERY_STEP if self.every_step and not why else why
        text = "from __future__ import annotations\n" + derive.derived_text(self.layout, self.symmetry)
        if self.skips_stuttering and not self.why_off:
            text += "\n\n" + stutters_text(self.layout)
        text += "\n\n" + self.also_text()
        text += (
            "\n\n"
            + judge_text(self.properties, history, self.premises)
            + "\n\n"
            + same_text(self.layout.history_size)
            + "\n"
        )
        text += "\n\n" + after_text(self.properties, self.model.program.steps, self.model.judged_after) + "\n"
        module: dict[str, Any] = {}
        exec(frontend.register_source(GENERATED, text).code, module)
        derived = {k: v for k, v in module.items() if isinstance(v, FunctionType)}
        for name in sorted(derived.keys() & names.keys()):
            raise taken_name(name, names[name])
        names |= derived
        own = {f.__name__: f for f in interface.HOOKS if f.__name__ not in derived} | functions_of(self.kernels)
        for name, value in (own | self.numbers).items():
            held = names.get(name, value)
            if (isinstance(value, FunctionType) and name in names) or held != value:
                raise taken_name(name, held)
        names |= own
        names |= self.numbers
        made = {name for name in derived if not name.startswith("_")} | self.numbers.keys()
        check_bindings(interface, self.kernels, names, made)
        reads.namespace = names
        return names

    @property
    def kernels(self) -> tuple[ModuleType, ...]:
        """The modules of kernels, the explorer's first."""
        return (kernel, *((orbits,) if self.symmetry else ()), *self.also_modules)

    def _typed(self) -> TypedProgram:
        """Type every exported function, and those that it calls."""
        front = self.front_end()
        why = asymmetry(self.model, self.properties, front) if self.symmetry else ""
        if why:
            raise Asymmetric(why)
        self.typed_namespace(front)
        for name in self.exports:
            front.function(name)
        return front.program

    def _make(self) -> tuple[str, dict[str, Any]]:
        typed = self._typed()
        assembly = llvm_text.emit_program(typed, self.layout, set(self.exports), has_bit_gather())
        return assembly, {
            "sites": [s.sentence() for s in typed.sites],
            "steps": self.model.program.steps,
            "stuttering_off": self.why_off,
            **self.also_facts(typed),
        }

    def also_facts(self, typed: TypedProgram) -> dict[str, Any]:
        """Return further values to store beside the code, as JSON."""
        return {}

    # --- single states, for tests, traces and the first state ---------------------------------

    @cached_property
    def _work(self) -> Any:
        """Memory for the kernel to work in, for the calls below (not for use by several threads)."""
        return ctypes.create_string_buffer(self.work + 64)

    @cached_property
    def steps_room(self) -> Block:
        """Memory for every possible step, with the state after it; as for `_work`.

        It is tens of megabytes if a network is unordered, and little of it is ever written: so it is allocated once,
        and the system provides pages only where they are written.
        """
        return Block((self.model.most_steps + 1) * (self.layout.total + 8))

    @cached_property
    def _room(self) -> type[ctypes.Array[ctypes.c_char]]:
        return ctypes.c_char * self.layout.total

    def state(self, data: bytes) -> Any:
        """Return a state in memory that the kernel can read and write."""
        buffer = self._room()
        ctypes.memmove(buffer, data, len(data))
        return buffer

    def canonical(self, data: bytes) -> tuple[int, bytes]:
        """Return the fingerprint of a state and the state that represents its orbit."""
        to = self.state(b"")
        h = self.fingerprint(self.state(data), to, self._work, self.perms)
        return h, ctypes.string_at(to, self.layout.size)

    def visited(self, data: bytes) -> tuple[int, bytes]:
        """Return the fingerprint of a state and the state that an exploration visits for it."""
        return self.canonical(data)

    def tables(self, renamings: Iterable[Sequence[int]]) -> ctypes.Array[ctypes.c_char]:
        """Return renamings, i to p[i], as machine code reads them: one after the other."""
        return ctypes.create_string_buffer(b"".join(map(self.renaming_table.of, renamings)) + b"\0")

    def rename(self, data: bytes, p: Sequence[int]) -> bytes:
        """Return a state with process i renamed to p[i]."""
        to = self.state(b"")
        self.renamed(self.state(data), to, self.tables([p]))
        return ctypes.string_at(to, self.layout.size)

    def renaming_of(self, data: bytes) -> tuple[int, ...]:
        """Return the renaming that maps a state to the one that represents its orbit."""
        self.canonical(data)
        table = ctypes.string_at(ctypes.addressof(self._work) + self.numbers["RENAMING_AT"], self.renaming_table.old)
        return tuple(name - 1 for name in table[1:])

    def orbit_size(self, data: bytes) -> int:
        """Return the number of distinct states among the renamings of one, itself included; 1 without symmetry."""
        self.canonical(data)
        return int(self.states_of_orbit(self._work))

    def next_states(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return the steps possible in a state (word with choice), each with the state after it.

        The state has its step annotations; the order is that of ordinals.
        """
        total, out = self.layout.total, self.steps_room.address
        n = self.successors(self.state(data), out, self.model.most_steps, self._work)
        if n < 0:
            raise AssertionError("a state has more steps than the bound allows")
        raw = ctypes.string_at(out, n * (total + 8))
        pieces = (raw[at : at + total + 8] for at in range(0, len(raw), total + 8))
        return [(int.from_bytes(piece[:8], "little"), piece[8:]) for piece in pieces]

    def judge_state(self, state: Any, live: int) -> int:
        """Return which of the properties in a mask a state violates; the kernel can write to the state's memory."""
        return int(self.look_at_one_state(state, live, self._work, 0))

    def witness_state(self, state: Any, want: int) -> int:
        """Return for which of the properties in a mask a state meets the premise."""
        anywhere = sum(1 << k for k, p in enumerate(self.properties) if p.name == DEADLOCK)
        return int(self.look_at_one_state(state, want, self._work, 1)) | want & anywhere

    def said_of(self, error: int) -> str:
        """Return the message of an error that machine code recorded."""
        return from_here(self.sites[site_number(error) - 1])

    def judged_state(self, data: bytes, live: int) -> tuple[int, int, int]:
        """Return which properties in a mask a state violates, whose premises it meets, and the first run-time error.

        The error is 0 if there is none.
        """
        state = self.state(data)
        at = self.layout.offset("error")
        broken, site = self.judge_state(state, live), int.from_bytes(state[at : at + 4], "little")
        met = self.witness_state(state, live)
        site = site or int.from_bytes(state[at : at + 4], "little")
        return broken, met, site

    def breaks(self, before: bytes, after: bytes, live: int) -> int:
        """Return which step properties in a mask the step between two states violates."""
        return self.judged_step(before, after, live, 0)[0]

    def judged_step(self, before: bytes, after: bytes, live: int, want: int) -> tuple[int, int]:
        """Return which step properties of a mask the step between two states violates, and whose premises it meets.

        The state `after` has its step annotations.
        """
        if not live and not want:
            return 0, 0
        report = ctypes.create_string_buffer(8 * kernel.REPORT)
        self.judge_one_step(self.state(before), self.state(after), report, live, want)
        words = (ctypes.c_int64 * kernel.REPORT).from_buffer(report)
        broken = sum(1 << k for k in range(len(self.properties)) if words[kernel.R_BROKEN + k])
        return broken, words[kernel.R_STEP_WITNESSES]

    def schedule_along(self, ordinals: Sequence[int], broken: int = 0, start: bytes = b"") -> Schedule:
        """Return the steps from an initial state that pass through the same orbits as a path of the explorer.

        Args:
            start: that state; empty for the only one.
            ordinals: for each step, which successor it is of the state that represents the orbit.
            broken: the last step must violate these step properties (a mask), which others into the same orbit need
                not.

        Raises:
            NotRenamings: states of one orbit have different steps.
        """
        size = self.layout.size
        concrete = first = start or self.model.program.initial().key()
        _, image = self.canonical(concrete)
        words: list[int] = []
        for ordinal in ordinals:
            target, image = self.canonical(self.next_states(image)[ordinal][1][:size])
            must = broken if len(words) == len(ordinals) - 1 else 0
            same = (
                (word, after[:size])
                for word, after in self.next_states(concrete)
                if self.canonical(after[:size])[0] == target and self.breaks(concrete, after, must) == must
            )
            word, concrete = next(same, (-1, b""))
            if word < 0:
                said = f"step {len(words) + 1} of the path to a state is not enabled in a renamed state"
                raise NotRenamings(f"{said}; rerun with --no-symmetry")
            words.append(word)
        return Schedule.of(words, self.model.program.starts[first])

    def view(self, data: bytes) -> StateView:
        return StateView(self.layout, data)


class CompiledForPremises(Compiled):
    """A model that is explored for the shortest runs to premises: meeting one takes the place of a violation."""

    premises = True

    def also_key(self) -> tuple[object, ...]:
        return ("premises", *super().also_key())
