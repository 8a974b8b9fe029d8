"""Translate a model to a TLA+ module and its configuration."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from checker.explore.symmetry import found_in
from checker.proofs.tla.actions import Actions
from checker.proofs.tla.env import ROOT, Fresh, Operator, Untranslatable, fixed, walk
from checker.proofs.tla.places import place_of
from checker.proofs.tla.syntax import Node, definition
from checker.proofs.tla.values import BOUND, message_type, named, node, type_of, value_of, whole
from invariants.binding import full_namespace
from invariants.registry import STEP, TERMINAL, Property
from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import live_in, reads
from zabspec.language.layout.derive import bags
from zabspec.language.layout.kinds import Int, Kind, MessageUnion, Record, Seq
from zabspec.language.layout.schema import NODE, Field, Layout, Role
from zabspec.language.python import reference
from zabspec.model import Configuration, Model
from zabspec.quorums import system_of

__all__ = ["Module", "Untranslatable", "module_of"]

# --- check local names for parts of the state: a sequence or a message with a local name is a view of the state ---
#
# Later changes show in a view, and a module has only values. So a name that is read after its view was changed cannot
# be translated: such a program is refused, with the name and the line.

CHANGES = (t.Store, t.Copy, t.SetChange, t.Clear, t.Append, t.Remove)


def refuse_stale_views(program: t.TypedProgram, layout: Layout) -> None:
    """Check that no name is read for its value before a change.

    Raises:
        Untranslatable: one may be.
    """
    changed, shown = fields_changed(program, layout), fields_shown(program, layout)
    for f in program.functions.values():
        names = {name: fields for (function, name), fields in shown.items() if function == f.name and fields}
        if not names:
            continue
        live = live_in(f)
        for s in statements(f.body):
            written = written_by(s, changed, layout)
            read = live.after(s) | read_meanwhile(s, changed)
            for name in sorted(read & names.keys()):
                for field in sorted(written & names[name]):
                    raise Untranslatable(
                        f"{f.called} ({f.file}:{s.line}): {field} is changed while {name} shows what it has: "
                        f"name it again behind the change"
                    )


def statements(body: Sequence[t.Stmt]) -> Iterator[t.Stmt]:
    """Yield every statement, nested ones included."""
    return (s for s in walk(list(body)) if isinstance(s, t.Stmt))


def own_parts(s: t.Stmt) -> list[Any]:
    """Return the expressions that a statement evaluates itself, without nested statements."""
    return [part for part in vars(s).values() if not (isinstance(part, list) and part and isinstance(part[0], t.Stmt))]


def written_by(s: t.Stmt, changed: dict[str, set[str]], layout: Layout) -> set[str]:
    """Return the fields that a statement changes itself, or by a call."""
    found = set()
    if isinstance(s, CHANGES):
        field = place_of(s.place, layout).field
        found |= {field.name} if field is not None else set()
    for e in walk(own_parts(s)):
        if isinstance(e, t.Call):
            found |= changed[e.function]
        elif isinstance(e, t.Builtin) and e.op == "forget":
            found |= {f.name for f in layout.schema.fields if f.role is Role.VOLATILE}
    return found


def read_meanwhile(s: t.Stmt, changed: dict[str, set[str]]) -> frozenset[str]:
    """Return the names that a statement may still read after a call in it that changes the state."""
    calls = [e for e in walk(own_parts(s)) if isinstance(e, t.Call) and changed[e.function]]
    if isinstance(s, (t.If, t.While)) and calls:
        return reads(list(vars(s).values())).union(*(reads(list(vars(x).values())) for x in statements([s])))
    outermost = s.value if isinstance(s, (t.Evaluate, t.Assign, t.Return, t.Store, t.Append, t.Copy)) else None
    if not calls or (len(calls) == 1 and calls[0] is outermost):
        return frozenset()
    return reads(own_parts(s))


def fields_changed(program: t.TypedProgram, layout: Layout) -> dict[str, set[str]]:
    """Return by function the fields that it, or one that it calls, may change."""
    found: dict[str, set[str]] = {name: set() for name in program.functions}
    while True:
        more = {
            name: found[name].union(*(written_by(s, found, layout) for s in statements(f.body)))
            for name, f in program.functions.items()
        }
        if more == found:
            return found
        found = more


def fields_shown(program: t.TypedProgram, layout: Layout) -> dict[tuple[str, str], set[str]]:
    """Return by function and local name the fields that the name may be a view of."""
    found: dict[tuple[str, str], set[str]] = {}

    def of(function: str, e: t.Expr) -> set[str]:
        if isinstance(e, t.Memory):
            if e.base.type != t.STATE:
                return of(function, e.base)
            field = place_of(e, layout).field
            return {field.name} if field is not None else set()
        return found.get((function, e.name), set()) if isinstance(e, t.Var) else set()

    def shows(e: t.Expr) -> bool:
        return isinstance(e.type, (t.SeqType, t.MessageType))

    while True:
        before = {key: set(fields) for key, fields in found.items()}
        for f in program.functions.values():
            for e in walk(f.body):
                if isinstance(e, t.Assign) and shows(e.value):
                    found.setdefault((f.name, e.name), set()).update(of(f.name, e.value))
                elif isinstance(e, t.Call):
                    params = program.functions[e.function].params
                    for (name, _), a in zip(params, e.args, strict=True):
                        if shows(a):
                            found.setdefault((e.function, name), set()).update(of(f.name, a))
        if before == found:
            return found


# Definitions that the operators below use; each is written if one uses it.
PRELUDE = (
    ("NoMessage", 'NoMessage == [kind |-> "NONE"]'),
    ("Max", "Max(a, b) == IF a < b THEN b ELSE a"),
    ("Min", "Min(a, b) == IF a < b THEN a ELSE b"),
    ("PutAt", "PutAt(q, k, x) == IF k \\in DOMAIN q THEN [q EXCEPT ![k] = x] ELSE <<q[k]>>"),
    ("RemoveAt", "RemoveAt(q, k) == SubSeq(q, 1, k - 1) \\o SubSeq(q, k + 1, Len(q))"),
    ("Pick", "\\* a process of several: {which}\nPick(S) == CHOOSE x \\in S : {pick}"),
    ("Least", "Least(S) == CHOOSE x \\in S : \\A y \\in S : x <= y"),
    ("OverNodes", "\\* what a loop leaves that goes through processes\nOverNodes(Round(_, _), left) == {rounds}"),
    (
        "Through",
        """\\* what a loop leaves that goes through numbers
RECURSIVE Through(_, _, _, _)
Through(Round(_, _), left, from, to) ==
  IF from > to THEN left ELSE Through(Round, Round(left, from), from + 1, to)""",
    ),
    (
        "BitAnd",
        """RECURSIVE BitAnd(_, _)
BitAnd(a, b) == IF a = 0 \\/ b = 0 THEN 0 ELSE 2 * BitAnd(a \\div 2, b \\div 2) + Min(a % 2, b % 2)""",
    ),
    (
        "BitOr",
        """RECURSIVE BitOr(_, _)
BitOr(a, b) == IF a = 0 THEN b ELSE IF b = 0 THEN a ELSE 2 * BitOr(a \\div 2, b \\div 2) + Max(a % 2, b % 2)""",
    ),
)


@dataclass(frozen=True)
class Module:
    """A TLA+ module.

    Attributes:
        name: of the module.
        text: the content of its file.
        configuration: the content of the .cfg file.
        left_out: properties that it does not state, each with the reason.
        symmetric: whether processes may be renamed, so that TLC may identify states that differ only in that. Not if
            the module has a view: TLC finds the least renaming of a state before it evaluates the view, and would count
            orbits separately. Nor if there is nothing to rename.
    """

    name: str
    text: str
    configuration: str
    left_out: tuple[tuple[str, str], ...]
    symmetric: bool

    def configured(self, symmetry: bool) -> str:
        """Return the configuration, with the symmetry of processes if it is requested and available."""
        return self.configuration + ("SYMMETRY Symmetry\n" if symmetry and self.symmetric else "")


BEGUN = "begun_as"  # in an initial state of several, the values of the fields in which they differ

# modules of TLC: a module of the same name would be read instead
STANDARD = frozenset(
    re.findall(
        r"\w+", "Bags FiniteSets Integers Json Naturals Randomization RealTime Reals Sequences TLC TLCExt Toolbox"
    )
)
OF_STEPS = "it is a property of steps, not of states"  # which an invariant of a module cannot express


def module_of(model: Model, properties: Sequence[Property], name: str) -> Module:
    """Translate a model to a module.

    Args:
        model: what is translated.
        properties: become invariants, those of states and of histories.
        name: of the module.

    Raises:
        Untranslatable: the protocol does something that a module cannot express.
    """
    if model.fails:
        raise Untranslatable("disks are not exported: unforced writes cannot be expressed in TLA+")
    if name in STANDARD or name != named(name):
        raise Untranslatable(f"a module may not be called {name}: TLA+ has that name")
    check_names(model.program.layout)
    kept = [p for p in properties if p.of != STEP]
    left_out = tuple((p.name, OF_STEPS) for p in properties if p.of == STEP)
    carried: frozenset[str] = frozenset()
    # a cut of the network is a number whose bits are processes
    # even with one process: its source may calculate with it, which is impossible with a model value of TLC
    # of a role a process is by its number, so that with roles they are numbers
    symmetric = not (found_in(model, kept) or model.configuration.partitions or model.configuration.roles)
    while True:
        made = translated(model, kept, carried)
        read = frozenset(made.read_scratch)
        if read <= carried:
            break
        carried |= read
    symmetric = symmetric and not chooses_process(made.program)
    configuration = configuration_of(model, made.stated.values(), bool(bags(made.layout)), symmetric)
    text = text_of(model, made, kept, name, left_out, symmetric)
    some = has_renamings(model.configuration)
    return Module(name, text, configuration, left_out, symmetric and some and not bags(made.layout))


def has_renamings(c: Configuration) -> bool:
    """Return whether some renaming of processes is not the identity: TLC fails on a symmetry without any."""
    return c.nodes > 1 and (not c.quorums or len(system_of(c.quorums).renamings) > 1)


def chooses_process(program: t.TypedProgram) -> bool:
    """Return whether a function chooses a process by its number, which a model value of TLC does not have."""
    return any(isinstance(e, t.OneOfRole | t.OneOfSet) for f in program.functions.values() for e in walk(f.body))


def check_names(layout: Layout) -> None:
    """Check that the names of fields are valid in TLA+, and distinct there within each message.

    Raises:
        Untranslatable: they are not.
    """
    for f in layout.schema.fields:
        if f.name != named(f.name):
            raise Untranslatable(f"the name of field {f.name} has another meaning in TLA+")
        kind = f.kind.element if isinstance(f.kind, Seq) else f.kind
        if isinstance(kind, Record):
            once([*kind.fields], kind.name)
        if isinstance(kind, MessageUnion):
            for m in kind.messages:
                once(["kind", *m.fields, *kind.envelope], m.name)
                if not m.name.isascii():
                    raise Untranslatable(f"the message {m.name} has a name that TLA+ cannot write")


def once(parts: Sequence[str], of: str) -> None:
    """Check that no two parts of a record have one name in the module."""
    names = [named(part) for part in parts]
    for part, name in zip(parts, names, strict=True):
        if names.count(name) > 1:
            raise Untranslatable(f"{of}.{part} has a name that another part of it has in a module")


class Translated(Actions):
    """The translation of a model.

    Attributes:
        next_state: the next-state relation.
        invariants: by property the operator that states it.
        stated: by property the name of the invariant.
        docs: the docstring of each function.
    """

    next_state: Node
    invariants: dict[str, Operator]
    stated: dict[str, str]
    docs: dict[str, str]


def translated(model: Model, properties: Sequence[Property], carried: frozenset[str]) -> Translated:
    """Everything that a module needs, translated."""
    program = model.program
    front = program.front_end(full_namespace(model))
    for root in ("enabled", "apply", *(p.holds.__name__ for p in properties)):
        front.function(root)
    refuse_stale_views(front.program, program.layout)
    made = Translated(front.program, program.layout, model.configuration.nodes, carried)
    made.docs = {n: f.__doc__ or "" for n, f in full_namespace(model).items() if isinstance(f, FunctionType)}
    made.next_state = made.actions()
    made.invariants = {p.name: made.operator(p.holds.__name__) for p in properties}
    fresh = Fresh(set(made.taken | made.operators.keys() | BOUND))
    made.stated = {p.name: fresh.name(invariant_name(p.name)) for p in properties}
    return made


def text_of(
    model: Model,
    made: Translated,
    properties: Sequence[Property],
    name: str,
    left_out: Sequence[tuple[str, str]],
    symmetric: bool,
) -> str:
    """Return the content of the module's file."""
    c = model.configuration
    state = [f for f in made.layout.schema.fields if f.role is not Role.SCRATCH and not fixed(f)]
    said = [f"{k} = {v}" for k, v in c.as_dict().items() if v not in ("", 0, False)]
    nodes = [f"p{p}" for p in range(c.nodes)]
    begins = [[initial(model, made, f, data) for f in state] for data in model.program.starts]
    chosen = [len(set(values)) > 1 for values in zip(*begins, strict=True)]
    out = [f"{'-' * 30} MODULE {name} {'-' * 30}"]
    out += [f"\\* {line}" for line in textwrap.wrap("Written by zabcheck of " + ", ".join(said) + ".", 110)]
    out += [f"\\* Not stated here: {p}: {why}." for p, why in left_out]
    out += ["EXTENDS Integers, Sequences, FiniteSets, TLC", ""]
    # if the source distinguishes processes they are numbers, and it may calculate with them: NOBODY is one too
    out += [f"CONSTANTS {', '.join([*nodes, *(['NOBODY'] if symmetric else [])])}"]
    out += [f"Node == {{{', '.join(nodes)}}}", *([] if symmetric else ["NOBODY == -1"]), ""]
    out += quorums_of(c)
    out += [f"{word} == {value}" for word, value in sorted(made.enumerated.items(), key=lambda x: (x[1], x[0]))]
    out += ["", "\\* A record of all there is: an operator below takes it, and returns the one after its effect."]
    out += [f"VARIABLE {ROOT}"]
    carried = [made.layout.fields[name] for name in sorted(made.carried)]
    out += [f"\\*   {f.name}: {f.doc}" for f in (*state, *carried)]
    above, out = [*out, ""], []
    for operator in made.operators.values():
        out += ["", *said_of(operator, made.docs), definition(head_of(operator), operator.body)]
    for key in sorted(made.kinds):
        operator = made.kinds[key]
        out += ["", definition(head_of(operator), operator.body)]
    out += ["", definition("Next", made.next_state), ""]
    ways = [record_of((f.name, v) for f, v, c in zip(state, values, chosen, strict=True) if c) for values in begins]
    values = [f"{BEGUN}.{f.name}" if c else v for f, v, c in zip(state, begins[0], chosen, strict=True)]
    record = [f"{f.name} |-> {value}" for f, value in zip(state, values, strict=True)]
    record += [f"{f.name} |-> {made.before(f)}" for f in carried]
    out += ["Init ==", *([f"  \\E {BEGUN} \\in {{{f',{chr(10)}      '.join(ways)}}} :"] if any(chosen) else [])]
    out += [f"  {ROOT} = [{record[0]},", *(f"{' ' * len(ROOT)}      {r}," for r in record[1:])]
    out[-1] = out[-1][:-1] + "]"
    out += ["", f"Spec == Init /\\ [][Next]_{ROOT}", ""]
    held = [f.kind.element if isinstance(f.kind, Seq) else f.kind for f in state]
    out += next(([*message_type(kind), ""] for kind in held if isinstance(kind, MessageUnion)), [])
    out += ["TypeOK ==", *(f"  /\\ {type_of(f, f'{ROOT}.')}" for f in state), ""]
    for p in properties:
        operator = made.invariants[p.name]
        ends = "ENABLED Next \\/ " if p.of == TERMINAL else ""
        out.append(f"{made.stated[p.name]} == {ends}{operator.name}({', '.join(ROOT for _ in operator.params)})")
    if symmetric and not bags(made.layout):
        out += ["", *symmetry_of(c)]
    if bags(made.layout):
        out += ["", *view(state)]
    below = "\n".join([*out, "=" * 80, ""])
    return "\n".join([*above, *prelude(symmetric, nodes, below), "", below])


def quorums_of(c: Configuration) -> list[str]:
    """Return the quorum system as a definition; empty if quorums are majorities.

    If every set that contains a quorum is one, only the smallest are listed.
    """
    system = c.system
    if system is None:
        return []
    listed = list(system.quorums)
    if system.grows:
        listed = [q for q in listed if not any(other != q and other & q == other for other in listed)]
    sets = [f"{{{', '.join(f'p{p}' for p in range(c.nodes) if q >> p & 1)}}}" for q in listed]
    lines = textwrap.wrap(f"Quorums == {{{', '.join(sets)}}}", 110, subsequent_indent="  ", break_on_hyphens=False)
    asks = "\\E q \\in Quorums : q \\subseteq S" if system.grows else "S \\in Quorums"
    return [f"\\* --quorums: {c.quorums}", *lines, f"IsQuorum(S) == {asks}", ""]


def symmetry_of(c: Configuration) -> list[str]:
    """Return the definition of the renamings of processes under which states count once."""
    if not c.quorums:
        return ["\\* the protocol treats all processes alike", "Symmetry == Permutations(Node)"]
    return [
        "\\* the protocol treats all processes alike, except for their quorums",
        "Symmetry == {f \\in Permutations(Node) :",
        "  \\A S \\in SUBSET Node : IsQuorum({f[p] : p \\in S}) = IsQuorum(S)}",
    ]


def prelude(symmetric: bool, nodes: Sequence[str], below: str) -> Iterator[str]:
    """Yield the definitions that the operators below use, and those that these use."""
    rounds = "left"
    for p in nodes:
        rounds = f"Round({rounds}, {p})"
    which, pick = ("any, with the same result", "TRUE") if symmetric else ("the first", "\\A y \\in S : x <= y")
    asked = set(re.findall(r"\w+(?=\()|\bNoMessage\b", below))
    for name, text in PRELUDE:
        if name in asked or (name in ("Max", "Min") and asked & {"BitAnd", "BitOr"}):
            yield text.format(which=which, pick=pick, rounds=rounds) if name in ("Pick", "OverNodes") else text


def head_of(operator: Operator) -> str:
    return f"{operator.name}({', '.join(operator.params)})" if operator.params else operator.name


def said_of(operator: Operator, docs: Mapping[str, str]) -> list[str]:
    """Return the docstring of a function, as a comment."""
    f = operator.function
    if f is None:
        return []
    doc = " ".join((docs.get(f.name) or "").split())
    step = f.paper_step or ""
    said = doc if not step or doc.startswith(step) else f"{step}: {doc}" if doc else step
    return [f"\\* {line}" for line in textwrap.wrap(said, 108)]


def invariant_name(name: str) -> str:
    return "".join(part.capitalize() for part in named(name.replace("-", " ")).split("_"))


def record_of(fields: Iterable[tuple[str, str]]) -> str:
    """Return a record of fields with their values."""
    return f"[{', '.join(f'{name} |-> {value}' for name, value in fields)}]"


def initial(model: Model, made: Translated, f: Field, data: bytes) -> str:
    """Return the value of a field in an initial state."""

    def said(kind: Kind, value: Any) -> str:
        if isinstance(kind, Int) and kind.names:
            return made.enumerated_value(kind, int(value)).text
        return value_of(kind, value, model.configuration.nodes).text

    return held(model.program.layout, data, f, said)


def held(layout: Layout, data: bytes, f: Field, said: Callable[[Kind, Any], str]) -> str:
    """Return the content of a field in a state, as an expression.

    Args:
        data: the state.
        said: converts one value of a kind to an expression.
    """
    buffer = bytearray(data + bytes(layout.total))
    values = {index: said(f.kind, reference.read(buffer, at, f.kind, f.name)) for index, at in layout.elements(f.name)}
    if len(set(values.values())) == 1:
        return whole(f.axes, next(iter(values.values())), "|->")

    def entries(prefix: tuple[int, ...]) -> str:
        k = len(prefix)
        if k == len(f.axes):
            return values[prefix]
        axis = f.axes[k]
        count = layout.axis_sizes(f)[k]
        key = (lambda i: node(i).text) if axis == NODE else str
        return "(" + " @@ ".join(f"{key(i)} :> {entries((*prefix, i))}" for i in range(count)) + ")"

    return entries(())


def view(state: Sequence[Field]) -> list[str]:
    """Return the view under which states that differ only in the order of a bag are one.

    TLC evaluates the view of every state that it makes: a message that is there once, as most are, is not counted.
    """
    seen = []
    for f in state:
        if isinstance(f.kind, Seq) and f.kind.bag:
            each = "".join(f"[i{k}]" for k, _ in enumerate(f.axes))
            seen.append(f"!.{f.name} = {whole(f.axes, f'Bag({ROOT}.{f.name}{each})', '|->') if each else 'Bag(@)'}")
    return [
        "\\* what is in flight has no order",
        "Bag(q) ==",
        "  LET S == {q[k] : k \\in 1..Len(q)}",
        "  IN  IF Cardinality(S) = Len(q) THEN S ELSE [m \\in S |-> Cardinality({k \\in 1..Len(q) : q[k] = m})]",
        f"View == [{ROOT} EXCEPT {', '.join(seen)}]",
    ]


def configuration_of(model: Model, stated: Iterable[str], has_view: bool, symmetric: bool) -> str:
    """Return the content of the .cfg file.

    TLC takes it as an error if a state has no step, unless it is started with -deadlock. Not every TLC reads
    CHECK_DEADLOCK, which would be for the configuration.
    """
    how = "\\* java -Xss32m ... tlc2.TLC -deadlock: a run may end, and a long step nests deeply"
    out = [how, "INIT Init", "NEXT Next", "INVARIANT TypeOK"]
    out += [f"INVARIANT {name}" for name in stated]
    out += ["CONSTANT NOBODY = NOBODY"] if symmetric else []
    out += [f"CONSTANT p{p} = {f'p{p}' if symmetric else p}" for p in range(model.configuration.nodes)]
    out += ["VIEW View"] if has_view else []
    return "\n".join(out) + "\n"
