"""Which constructs of the language a protocol uses, and which steps of which world its runs take."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from tests.second.generator.features import OF_WORLDS

CALLS = [
    "send",
    "send_to_leader",
    "send_to_follower",
    "connect",
    "disconnect",
    "forget",
    "force",
    "choose",
    "broken",
    "is_down",
    "arm_timer",
    "abcast",
    "abdeliver",
    "accept",
    "establish",
    "revise",
    "end_pass",
    "end_leadership",
    "end_synchronization",
    "len",
    "min",
    "max",
    "add",
    "discard",
    "append",
    "clear",
]
MARKS = ["action", "environment_step", "receives", "observation", "safety", "invariant", "progress", "step"]
FIELDS = ["stored", "volatile", "on_disk", "ghost", "environment", "shared"]
KINDS = ["Range", "OneOf", "AtMost"]
HOOKS = [
    "on_start",
    "on_crash",
    "on_recovery",
    "starts_at_once",
    "on_message",
    "timer_armed",
    "on_timer",
    "on_oracle",
    "on_elected",
    "on_follow",
    "on_leader_lost",
    "on_follower_lost",
    "on_timeout",
    "may_time_out",
    "receivable",
    "may_receive",
    "may_vote",
    "may_lead",
    "oracle_may_name",
    "may_abcast",
    "on_abcast",
]
OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
STATEMENTS = {
    ast.Break: "break", ast.Continue: "continue", ast.AugAssign: "x += e", ast.AnnAssign: "x: int = e",
    ast.IfExp: "a if t else b", ast.BoolOp: "and, or", ast.Not: "not", ast.USub: "-x",
}  # fmt: skip
SHAPES = (
    """
elif|else|loop over processes|loop over numbers|loop with a start|loop through a sequence|loop through a set|nested loop
local carried through a loop|early return|chained comparison|in a set or sequence|in a few values|record made
records in order|sequence assigned|element assigned|set assigned|helper with parameters|helper without a state
helper of a sequence|helper of a message|claim of states|claim of steps|claim of histories|claim of messages
claim of two messages|claim of any message|loop over messages in flight|claim with a count|variant|start
tells processes apart|axis of numbers|axis of processes|enumeration compared|message with a set or sequence
environment everywhere|event annotations|bounded by its world|transactions|own epochs|room either way|says who is down
budget of the world spent by an action|budget read by a property|budget read by the environment
""".strip()
    .replace("\n", "|")
    .split("|")
)

CONSTRUCTS = (
    *CALLS, *(f"@{m}" for m in MARKS), *FIELDS, *KINDS, *HOOKS, *OPERATORS.values(), *STATEMENTS.values(), *SHAPES,
)  # fmt: skip

# What protocols have that are drawn with roles, maps and timers alone (`favoured.py`).
OF_ROLES = {
    "of a role": r": Each\[(Client|Server|Keeper),.* = \w+\(",
    "three roles": r"roles=\{.*keeper",
    "process of a role in a message": r"MessageType.*\n(    .*\n)*?    \w+: (Client|Server)\n",
    "any_of": r"\bany_of\(s",
    "initial states": r"(@initial\n|def already\(s: State\) -> None:\n)(.*\n)(    .*\n)*.*any_of\(s",
    "any_process": r"\bany_process\(s",
    "is_a": r"\bis_a\(s",
    "processes of a role": r"\bprocesses\(s, ",
    "quorum of a role": r"is_quorum\(s, .*, (Server|Client)\)",
    "messages between roles": r"p: Server, source: Client, m:",
    "messages within a role": r"p: Server, source: Server, m:|p: Node, source: Node, m: GOSSIP",
    "hook of a role": r"def on_(start|crash|recovery)_\w+\(",
    "action of a role": r"^def \w+\(s: State, p: (Client|Server)\) -> None",
}
OF_MAPS = {
    "map keyed by a role": r": Each\[\w+, Each\[(Client|Server)|: Each\[(Client|Server).*= (ghost|environment)",
    "map keyed by processes": r": Each\[Node, Each\[Node",
    "map keyed by numbers": r": Each\[\w+, Each\[Annotated\[int, Range\(0, 1\)\],",
    "map of records": r"Each\[.*, Each\[.*, (Note|Item)\]",
    "map of sets": r"Each\[.*, Each\[.*, set\[",
    "map of maps": r"Each\[.*, Each\[.*, Each\[",
    "map of optional numbers": r"Each\[.*, Each\[.*, Annotated\[int, Maybe\(",
    "multiset": r"often: Each|tally: Each",
    "optional number": r"Maybe\(Range",
    "optional name": r"Maybe\(OneOf",
    "volatile map": r"Each\[\w+, Each\[.* = volatile\(",
    "stored map": r"Each\[\w+, Each\[.* = stored\(",
    "map on a disk": r"Each\[\w+, Each\[.* = on_disk\(",
    "map that is shown": r"shown_items: Each",
    "map of the environment": r"board: Each",
    "record with sets": r"RecordType.*\n(    .*\n)*?    \w+: set\[",
    "record in a message": r"MessageType.*\n(    .*\n)*?    \w+: (Note|Item)\n",
    "optional number in a message": r"MessageType.*\n(    .*\n)*?    \w+: Annotated\[int, Maybe\(",
    "sequence of records": r"SeqOf\[(Note|Item)\], AtMost\(2\)",
    "bag of records": r"bag=True",
    "set given to a record": r"\w+=\{q for q in",
    "optional number as int": r"(newer|shows_item)\(s, .*stamp",
    "entry of a map is compared": r"== s\.(note|ledger)\[",
}
# What classes declare, in every protocol.
OF_CLASSES = {
    "axis of processes": r"Each\[Node, Each\[Node,|: Each\[Node, .* = (ghost|environment|shared)\(",
    "axis of numbers": r"Each\[Annotated\[int, Range\(",
    "set of numbers": r"set\[Annotated\[int, Range\(",
    "message with a set or sequence": r"MessageType.*\n(    .*\n)*?    \w+: (set\[|Annotated\[SeqOf\[)",
}
OF_TIMERS = {
    "timer": r"timer\(\"",
    "timer of a role": r"Each\[(Client|Server), bool\] = timer\(",
    "firing spends a budget": r"@fires\(.*budget=",
    "firing has a guard": r"@fires\(.*when=",
    "timer armed by a receipt": r"m: TOLD\) -> None:(\n    .*)*alarm|m: TOLD\) -> None:(\n    .*)*patience\[p\] = ",
    "strong fairness": r"fair=\"strong\"",
    "fair to the action": r"fair_to=\"action\"",
    "progress of a role": r"@progress\ndef \w+\(s: State, p: (Client|Server)",
}
CROSSED = (*OF_ROLES, *OF_MAPS, *OF_TIMERS)
# What a protocol has, and a run takes, of which each two are wanted together.
ASPECTS: Mapping[str, tuple[str, ...]] = {
    "roles": ("of a role",),
    "maps": ("map keyed by a role", "map keyed by processes", "map keyed by numbers"),
    "timers": ("timer",),
    "sets in records": ("record with sets",),
    "records in messages": ("record in a message",),
    "observers": ("@observation",),
    "environment": ("@environment_step",),
    "starts": ("start",),
    "choices": ("any_of", "any_process", "choose"),
    "crashes": ("crash",),
    "power losses": ("power_loss",),
    "failing inside": ("crash_inside", "power_loss_inside"),
    "lost messages": ("drop",),
    "repeated messages": ("repeat",),
    "budgets that are read": ("budget read by a property", "budget read by the environment"),
}
CROSSINGS = tuple(f"{one} x {other}" for one, other in combinations(ASPECTS, 2))

# What has to be taken somewhere: kinds of steps by world and network.
OVER_DATAGRAMS = [
    "receive",
    "repeat",
    "drop",
    "election_timeout",
    "heartbeat",
    "action",
    "environment",
    "crash",
    "recover",
    "power_loss",
    "crash_inside",
    "power_loss_inside",
    "abcast",
]
OVER_CONNECTIONS = [
    "oracle",
    "to_follower",
    "to_leader",
    "follower_learns",
    "leader_learns",
    "lose_connection",
    "timeout",
    "partition",
    "elect",
    "join",
    "crash",
    "recover",
    "action",
    "environment",
    "power_loss",
    "crash_inside",
    "power_loss_inside",
    "crash_electing",
    "power_loss_electing",
    "abcast",
]
CHANNELS = ("fifo", "lossy", "unordered", "duplicating")
WORLDS = (
    *(f"{network}: {kind}" for network in ("datagrams", "ordered", "fifo") for kind in OVER_DATAGRAMS),
    *(f"connections {network}: {kind}" for network in CHANNELS for kind in OVER_CONNECTIONS),
    *(f"connections stale: {kind}" for kind in OVER_CONNECTIONS if not ("elect" in kind or kind == "join")),
    *(f"connections lossy: {kind}" for kind in ("drop_to_leader", "drop_to_follower")),
    *(f"connections duplicating: {kind}" for kind in ("repeat_to_leader", "repeat_to_follower")),
)  # fmt: skip


def constructs(text: str) -> set[str]:
    """What a protocol's text uses."""
    tree = ast.parse(text)
    found: set[str] = set()
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, node in functions.items():
        if name in ("state", "messages", "types"):
            continue
        found |= {name} & set(HOOKS)
        found |= in_function(node, functions)
    if "is_down" in functions:
        found.add("says who is down")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            found |= {called} & {*CALLS, *KINDS, *FIELDS}
            found |= declared(called, node)
    crossed = {**OF_ROLES, **OF_MAPS, **OF_TIMERS, **OF_CLASSES}
    return (found & set(CONSTRUCTS)) | {name for name, said in crossed.items() if re.search(said, text, re.MULTILINE)}


def crossings(has: Iterable[str]) -> set[str]:
    """Which two aspects a protocol has, of what it uses and the steps that its runs take."""
    there = {name.rpartition(": ")[2] for name in has}
    met = {aspect for aspect, names in ASPECTS.items() if there & {*names}}
    return {f"{one} x {other}" for one, other in combinations(ASPECTS, 2) if {one, other} <= met}


def declared(called: str, node: ast.Call) -> set[str]:
    """What a call in the declarations says."""
    if called in ("Variant", "Start"):
        return {called.lower()}
    if called == "declare":
        given = {k.arg: ast.unparse(k.value) for k in node.keywords}
        found = {
            "bounded by its world": "bounded_by_world" in given, "transactions": "transactions" in given,
            "own epochs": "epochs" in given, "room either way": "(" in given.get("flight", ""),
        }  # fmt: skip
        return {name for name, is_so in found.items() if is_so}
    return set()


def in_function(node: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]) -> set[str]:
    """What one function uses."""
    found: set[str] = set()
    marks = [ast.unparse(d) for d in node.decorator_list]
    for mark in marks:
        found.add(f"@{mark.partition('(')[0]}")
        found |= {"environment everywhere"} if "everywhere" in mark else set()
        found |= {"claim of steps"} if "'step'" in mark else set()
        found |= {"claim of histories"} if "'history'" in mark else set()
        spends = re.search(r"budget='(\w+)'", mark)
        if mark.startswith("action") and spends is not None and spends[1] in OF_WORLDS:
            found.add("budget of the world spent by an action")
    left = any(isinstance(part, ast.Attribute) and part.attr.endswith("_left") for part in ast.walk(node))
    if left:
        found.add(f"budget read by {'a property' if 'claim' in node.name else 'the environment'}")
    kinds = [ast.unparse(a.annotation) for a in node.args.args if a.annotation is not None]
    if any(m.startswith("safety") for m in marks) and "'step'" not in "".join(marks):
        found |= {"claim of states"} if len(kinds) == 1 else {"claim of messages"}
        found |= {"claim of two messages"} if len(kinds) == 3 else set()
        found |= {"claim of any message"} if "AnyMessage" in kinds else set()
    if not marks and node.name not in HOOKS:
        found |= {"helper with parameters"} if len(kinds) > 2 else set()
        found |= {"helper without a state"} if kinds and kinds[0] != "State" else set()
        found |= {"helper of a sequence"} if kinds and kinds[0] in ("Line", "Queue") else set()
        found |= {"helper of a message"} if any(k.isupper() for k in kinds) else set()
    returns = [part for part in ast.walk(node) if isinstance(part, ast.Return) and part.value is None]
    found |= {"early return"} if returns else set()
    for part in ast.walk(node):
        found |= in_part(part)
        if isinstance(part, ast.For):
            found |= loop(part)
    return found


def loop(node: ast.For) -> set[str]:
    over = ast.unparse(node.iter)
    found: set[str] = set()
    if over.endswith(".NODES)"):
        found.add("loop over processes")
    elif "in_flight" in over:
        found.add("loop over messages in flight")
    elif over.startswith("range("):
        found.add("loop over numbers")
        found |= {"loop with a start"} if len(getattr(node.iter, "args", [])) == 2 else set()
    else:
        name = getattr(node.target, "id", "")
        found.add("loop through a set" if name.startswith("i") else "loop through a sequence")
    inner = [part for statement in node.body for part in ast.walk(statement)]
    found |= {"nested loop"} if any(isinstance(part, ast.For) for part in inner) else set()
    stores = {p.id for p in inner if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}
    loads = {p.id for p in inner if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)}
    found |= {"local carried through a loop"} if any(n.startswith("n") for n in stores & loads) else set()
    found |= {"claim with a count"} if {"count", "n"} & stores else set()
    return found


def in_part(part: ast.AST) -> set[str]:
    """What a piece of syntax is."""
    found = {word for kind, word in STATEMENTS.items() if isinstance(part, kind)}
    if isinstance(part, (ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.AugAssign)):
        op = part.op
        found |= {word for kind, word in {**OPERATORS, **STATEMENTS}.items() if isinstance(op, kind)}
    if isinstance(part, ast.If) and part.orelse:
        found.add(
            "elif" if isinstance(part.orelse[0], ast.If) and part.orelse[0].col_offset == part.col_offset else "else"
        )
    if isinstance(part, ast.Compare):
        found |= {"chained comparison"} if len(part.ops) > 1 else set()
        if isinstance(part.ops[0], (ast.In, ast.NotIn)):
            found.add("in a few values" if isinstance(part.comparators[0], ast.Tuple) else "in a set or sequence")
        text = ast.unparse(part)
        found |= (
            {"records in order"}
            if ("Pair(" in text or "Entry(" in text)
            and any(isinstance(o, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for o in part.ops)
            else set()
        )
        found |= (
            {"enumeration compared"}
            if any(n in text for n in ("IDLE", "BUSY", "OVER", "LOOKING", "LEADING"))
            else set()
        )
        found |= (
            {"tells processes apart"}
            if any(f" {p}" in text for p in ("< 0", "== 0", "> 1")) and text.split(" ")[0] in ("p", "q", "source")
            else set()
        )
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("Pair", "Entry"):
        found.add("record made")
    if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript):
        target, value = ast.unparse(part.targets[0]), ast.unparse(part.value)
        found |= {"element assigned"} if target.count("[") > 1 and target[-3:-1].strip("[").isdigit() else set()
        found |= (
            {"set assigned", "sequence assigned"}
            if value.startswith("s.") and "." not in value[2:] and value.endswith("]")
            else set()
        )
    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) and ast.unparse(part.right).endswith(".NODES"):
        found.add("tells processes apart")
    if isinstance(part, ast.Attribute) and part.attr in ("event_process", "event_peer", "event"):
        found.add("event annotations")
    return found


def steps_taken(request: Mapping[str, Any], world: str, labels: Iterable[str]) -> set[str]:
    """The kinds of steps that runs take, by world and network."""
    network = f"connections {request['network']}" if world == "connections" else request["network"]
    return {f"{network}: {label.partition(':')[0]}" for label in labels} & set(WORLDS)


def table(counted: Counter[str], total: int, least: int) -> list[str]:
    """How many protocols have each construct, and take each kind of step; what is below a least number is marked."""
    lines = [f"of {total} protocols, in how many (at least {least} wanted):"]
    parts = [("constructs", CONSTRUCTS), ("steps", WORLDS)]
    if counted["roles x maps"]:
        parts += [("roles, maps and timers", CROSSED), ("two at once", CROSSINGS)]
    for title, names in parts:
        lines.append(f"{title}:")
        lines += [
            f"  {'' if counted[name] >= least else 'LOW '}{name}: {counted[name]}" for name in dict.fromkeys(names)
        ]
    return lines
