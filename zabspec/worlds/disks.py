"""Generate a world's fields and functions for a protocol's fields on disks (`storage.py` defines their meaning)."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType

from zabspec.language import NODE, Bool, Field, Int, NodeId, Record, Role, Seq, SetOf
from zabspec.language.layout.kinds import Kind
from zabspec.language.layout.source import definition, register_source
from zabspec.worlds import actor, outages, storage
from zabspec.worlds.step_annotations import MOST_CHOSEN


def storage_fields(fields: Iterable[Field], nodes: int, unforced: int) -> tuple[Field, ...]:
    """Return the fields that the world keeps for the fields on disks among those of a protocol.

    Args:
        fields: the protocol's fields.
        nodes: the number of processes.
        unforced: the maximum number of writes of a process that are not forced.
    """
    given = tuple(fields)
    images = [
        Field(f"{f.name}_images", f.kind, Role.GHOST, (NODE, unforced + 1, *f.axes[1:]), f"{f.name} as the disk has it")
        for f in on_disks(given)
    ]
    then = [
        Field(f"{f.name}_then", f.kind, Role.SCRATCH, f.axes[1:], f"{f.name} at the point where the process fails")
        for f in given
        if f.role in OF_PROCESSES
    ]

    def says(name: str, kind: Int | NodeId, doc: str) -> Field:
        return Field(name, kind, Role.SCRATCH, (), doc)

    alternatives = Int(0, 255, MOST_CHOSEN)

    return (
        Field("unforced", Int(0, unforced, "declare(unforced=...)"), Role.GHOST, (NODE,), "writes that are not forced"),
        *images,
        *then,
        says("failing", NodeId.of(nodes), "the process that fails inside the step"),
        says("turn_of", NodeId.of(nodes), "the process that does its part of the step now"),
        says("fails", Int(0, 3), "how a process fails inside the step: BY_CRASH, BY_POWER_LOSS, BY_OUTAGE; 0: not"),
        says("failed", Int(0, 1), "it has: nothing lasts of what its handler does from here"),
        says("kept", alternatives, "how many unforced writes power loss keeps; in which way, in an outage"),
        says("index", alternatives, "which of the alternatives that are still ahead"),
        says("options", alternatives, "what it chose from"),
        says("steps_then", Int(0, 2**63 - 1), "the paper's steps entered before the process failed, a bit each"),
        says("error_then", Int(0, 2**32 - 1), "the error met before the process failed; 0: none"),
    )


def on_disks(fields: Iterable[Field]) -> list[Field]:
    return [f for f in fields if f.disk]


# Fields that the process alone writes: of those in memory too, what a crash does may depend on (`on_crash`, and whom it
# is connected to), and that has to be what they were where the process failed.
OF_PROCESSES = (Role.PERSISTENT, Role.VOLATILE)


class Made:
    """The functions that follow from the fields of one protocol.

    Args:
        fields: the protocol's fields.
        lasting: the functions whose effects survive besides a step's writes, by the name that handlers use.
    """

    def __init__(self, fields: Sequence[Field], lasting: Mapping[str, FunctionType]) -> None:
        self.fields = fields
        self.lasting = lasting

    def text(self) -> str:
        disks, owned = on_disks(self.fields), [f for f in self.fields if f.role in OF_PROCESSES]
        image, own, then = "s.{f}_images[p][k]{r}", "s.{f}[p]{r}", "s.{f}_then{r}"
        parts = [
            each(disks, "keep_image", ", k: int", f"{image} = {own}"),
            each(disks, "take_image", ", k: int", f"{own} = {image}"),
            each(disks, "clear_image", ", k: int", ""),
            each(disks, "image_differs", ", k: int", f"if {own} != {image}:\n    return True", "bool"),
            each(owned, "remember", "", f"{then} = {own}"),
            each(owned, "put_back", "", f"{own} = {then}"),
            *([STORED] if any(f.name == "history" for f in disks) else []),
            *(masked(name, function) for name, function in self.lasting.items()),
        ]
        return "\n\n\n".join(["from __future__ import annotations", *parts]) + "\n"


def each(fields: Iterable[Field], name: str, more: str, body: str, returns: str = "None") -> str:
    """Return a function that does the same with every field.

    Args:
        fields: the fields.
        name: the name of the function.
        more: its parameters after the state and the process.
        body: its statement; `{f}` is the field, `{r}` its indices after the process. If empty, images are cleared.
        returns: its return type.
    """
    lines = [f"def {name}(s: State, p: Node{more}) -> {returns}:"]
    for f in fields:
        sizes = ["s.NODES" if axis == NODE else str(axis) for axis in f.axes[1:]]
        for depth, size in enumerate(sizes):
            lines.append(f"{INDENT * (depth + 1)}for i{depth} in range({size}):")
        index = "".join(f"[i{depth}]" for depth in range(len(sizes)))
        made = body.format(f=f.name, r=index) or nothing(f"s.{f.name}_images[p][k]{index}", f.kind)
        lines += [f"{INDENT * (len(sizes) + 1)}{line}" for line in made.split("\n")]
    return "\n".join([*lines, f"{INDENT}return{' False' if returns == 'bool' else ''}"])


INDENT = "    "
STORED = """def has_stored(s: State, q: Node, t: Txn) -> bool:
    if power_is_lost(s):
        return any(s.history_images[q][0][k] == t for k in range(len(s.history_images[q][0])))
    return any(s.history[q][k] == t for k in range(len(s.history[q])))"""


def nothing(place: str, kind: Kind) -> str:
    """Return the statement that sets a place to the lowest value of its range."""
    if isinstance(kind, (Seq, SetOf)):
        return f"{place}.clear()"
    if isinstance(kind, Record):
        fields = ", ".join(f"{name}={low_end(inner)}" for name, inner in kind.fields.items())
        return f"{place} = {kind.name}({fields})"
    return f"{place} = {low_end(kind)}"


def low_end(kind: Kind) -> str:
    if isinstance(kind, SetOf):
        return "{i for i in range(s.NODES) if i != i}"  # in a record, where it is of processes
    if isinstance(kind, Bool):
        return "False"
    if isinstance(kind, NodeId):
        return "-1"
    assert isinstance(kind, Int)
    return str(kind.lo)


def masked(name: str, function: FunctionType) -> str:
    """Return the source of a lasting function, masked: it has no effect after its process has failed.

    After each call the process may fail.
    """
    node = definition(function)
    given = ", ".join(f"{a.arg}: {ast.unparse(a.annotation) if a.annotation else 'int'}" for a in node.args.args)
    passed = ", ".join(a.arg for a in node.args.args)
    returns = ast.unparse(node.returns) if node.returns else "None"
    lines = [f"def {name}({given}) -> {returns}:"]
    if name == "abcast":  # its transaction is read, also where it was not abcast
        made = "Txn(epoch=epoch, counter=counter, value=min(s.abcasts + 1, s.TXNS))"
        lines += [
            "    if not lasts(s):", f"        return {made}",
            f"    t = {DONE}abcast({passed})", "    pass_point(s)", "    return t",
        ]  # fmt: skip
    else:
        lines += ["    if lasts(s):", f"        {DONE}{name}({passed})", "        pass_point(s)", "    return"]
    return "\n".join(lines)


DONE = "done_"  # before the name of what is masked: that itself


def done(names: Mapping[str, object], name: str) -> str:
    """Return the name of the unmasked function that handlers call by a name."""
    return DONE + name if DONE + name in names else name


OF_DISKS = ("power_losses", "outages")  # the budgets that protocols without disks do not have


@dataclass(frozen=True)
class Disks:
    """The code that overrides a world for a protocol with disks; empty unless a process may fail.

    Attributes:
        modules: its modules.
        over: the functions that override all others: lasting functions, masked, and the originals under another name.
    """

    modules: tuple[ModuleType, ...] = ()
    over: Mapping[str, FunctionType] = field(default_factory=dict)


# What a world and the observed history provide that lasts.
LASTING = (
    "send", "send_to_leader", "send_to_follower", "connect", "disconnect",
    "abcast", "abdeliver", "accept", "establish", "revise", "end_pass", "end_leadership", "end_synchronization",
)  # fmt: skip


def disks_of(
    fields: Iterable[Field],
    world: Iterable[ModuleType],
    observations: Iterable[FunctionType],
    overrides: Mapping[str, FunctionType],
    outage: bool,
) -> Disks:
    """Return the code that overrides a world for a protocol with disks.

    Args:
        fields: the protocol's fields.
        world: the modules with lasting functions; of equal names the last counts.
        observations: the protocol's own observations.
        overrides: the functions of its variant.
        outage: whether there may be any.
    """
    lasting = {name: vars(module)[name] for module in world for name in LASTING if name in vars(module)}
    lasting |= {o.__name__: overrides.get(o.__name__, o) for o in observations}
    text = Made(tuple(fields), lasting).text()
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = f"<the disks of a protocol {digest}>"
    module = ModuleType(f"disks_{digest}")
    exec(register_source(file, text).code, module.__dict__)
    over: dict[str, FunctionType] = {DONE + name: function for name, function in lasting.items()}
    for name, function in lasting.items():
        over[name] = made = vars(module).pop(name)
        made.__dict__.update({k: v for k, v in vars(function).items() if k in ("new_identity", "observes")})
        made.acts = getattr(function, "acts", "") or getattr(vars(actor).get(name), "acts", "")
    return Disks((storage, *([outages] if outage else []), module), over)
