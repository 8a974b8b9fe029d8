"""Search the edits of the rules at fault in a finding for the smallest that mends it, and print all that do.

    python -m benchmarks.smallest_repair trunc [--seconds 60]

A rule is a function of the text (zabspec/zookeeper). An edit changes it in one place: a comparison, a number,
a name for another one, a condition left out or denied, a statement left out, or one statement more: a step of the
text's store, or a set or a list that forgets a server or all. It is judged in the row's release with every other known
fix and without the finding's own: first the row's property, by the runs that broke earlier edits, then by exploring the
row's budget; then all properties there, and in the budgets of other rows (`ALSO`). Those that are left are judged once
more with every step by itself. The finding's own repair is judged first, the same way; `--own` leaves out parts of it.
"""

from __future__ import annotations

import argparse
import ast
import copy
import inspect
import tempfile
import textwrap
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Limits
from checker.zookeeper.record import configuration
from checker.zookeeper.rows import ROWS, USUAL, Row
from invariants import properties_of
from traces import build_trace
from traces.replay.replay import replay
from zabspec.authoring.declaration import Variant
from zabspec.language.layout.source import LanguageError
from zabspec.model import Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.zookeeper import broadcast, learner, shutdown, snapshots, storage, sync
from zabspec.zookeeper.variants import releases

PROTOCOL = PROTOCOLS["zookeeper"]
# The rules that a reader of the page would look at.
RULES: dict[str, tuple[tuple[ModuleType, str], ...]] = {
    "trunc": ((sync, "send_ahead"), (sync, "forward_outstanding"), (sync, "forward_to_be_applied")),
    "cut": ((storage, "cut_log"),),
    "snap-tail": ((learner, "leave_tail"), (learner, "save_snapshot"), (learner, "on_snap")),
    "trunc-epoch": ((sync, "truncates_ahead"), (sync, "send_ahead")),
    "late-snapshot": ((shutdown, "waits_for_snapshot"), (shutdown, "end_running")),
}
ALSO = ("4837", "5094", "trunc")  # rows of other budgets, from the established start
# The repair of each, by the rule in whose place it stands: can a part of it be left out?
OWN: dict[str, tuple[ModuleType, str, str]] = {
    "trunc": (releases, "keeps_what_it_acknowledged", "send_ahead"),
    "cut": (releases, "cut_before_the_first_behind", "cut_log"),
    "snap-tail": (releases, "drop_tail", "leave_tail"),
    "trunc-epoch": (releases, "truncates_in_running_epoch", "truncates_ahead"),
    "late-snapshot": (snapshots, "waits_for_thread", "waits_for_snapshot"),
}
# Not judged: a periodic snapshot may hold what was committed and is not in its server's log yet, so that with the row's
# own repair, too, a start finds more in the tree than in committedLog.
NOT_JUDGED = {"late-snapshot": ("committed-log-is-whole",)}
OF_A_LEADER = (
    "s.last_committed[{l}]", "s.peer_last[{l}][{f}]", "min(s.peer_last[{l}][{f}], s.last_committed[{l}])",
    "s.last_processed[{l}]",
)  # fmt: skip
COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
# Steps of the store that an edit may add, with the server and, where they take one, a zxid or a count.
STEPS = ("restore", "fast_forward", "take_snapshot", "drop_later_snapshots", "cut_log", "drop_behind", "load_newest")
STEPS_OF_THREAD = ("name_snapshot", "save_periodic")  # and these, where a term ends


def numbers_of(rule: ast.FunctionDef) -> list[str]:
    """Return the names of zxids, counts and flags in a rule, and what its packet says."""
    given = {a.arg for a in rule.args.args if isinstance(a.annotation, ast.Name) and a.annotation.id == "int"}
    bound = {n.id for n in ast.walk(rule) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    said = {ast.unparse(n) for n in ast.walk(rule) if isinstance(n, ast.Attribute) and ast.unparse(n).startswith("m.z")}
    return sorted(given | bound | said)


def servers_of(rule: ast.FunctionDef) -> list[str]:
    """Return the names of the servers that a rule is given."""
    return [a.arg for a in rule.args.args if isinstance(a.annotation, ast.Name) and a.annotation.id == "Node"]


def added(rule: ast.FunctionDef) -> Iterator[str]:
    """Yield statements that a rule may have besides, by their text.

    Of a leader and its learner what the leader forgets of that one; of one server a step of its store.
    """
    servers, numbers = servers_of(rule), numbers_of(rule)
    if len(servers) > 1:
        l, f = servers
        yield f"s.forwarding[{l}].discard({f})"
        yield f"for slot in range(WIDTH):\n    s.acks[{l}][slot].discard({f})"
        yield from (f"s.acks[{l}][counter_of({z})].discard({f})" for z in numbers)
    elif rule.name not in STEPS:
        p = servers[0]
        yield f"s.log[{p}].clear()"
        ends = rule.name in {name for _, name in RULES["late-snapshot"]}
        for name in (*STEPS, *(STEPS_OF_THREAD if ends else ())):
            takes = len(inspect.signature((vars(storage) | vars(releases) | vars(snapshots))[name]).parameters)
            given = ("0", *numbers, f"s.last_processed[{p}]") if takes > 2 else ("",)
            yield from (f"{name}(s, {p}{', ' if z else ''}{z})" for z in given)


def edits(rule: ast.FunctionDef) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield each edit of a rule: what it is, and the rule with it."""
    places = list(ast.walk(rule))
    for k, node in enumerate(places):
        if isinstance(node, ast.Compare):
            for kind in COMPARED:
                if not isinstance(node.ops[0], kind) and isinstance(node.ops[0], COMPARED):
                    yield edited(rule, k, lambda n, kind=kind: setattr(n, "ops", [kind()]))
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            for by in (-1, 1):
                yield edited(rule, k, lambda n, by=by: setattr(n, "value", n.value + by))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield edited(rule, k, lambda n: setattr(n, "value", not n.value))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in numbers_of(rule):
            for other in numbers_of(rule):
                if other != node.id and "." not in other:
                    yield edited(rule, k, lambda n, other=other: setattr(n, "id", other))
        elif isinstance(node, ast.BoolOp):
            for j in range(len(node.values)):
                yield edited(rule, k, lambda n, j=j: n.values.pop(j))
        elif isinstance(node, ast.If):
            yield edited(rule, k, lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test)))
            yield edited(rule, k, lambda n: setattr(n, "test", ast.Constant(True)))
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if not isinstance(block, list):
                continue
            first = 1 if node is rule and ast.get_docstring(rule) else 0
            for at in range(first, len(block)):
                yield edited(rule, k, lambda n, name=name, at=at: getattr(n, name).__setitem__(at, ast.Pass()))
            if name == "orelse" and not block:
                continue
            ends = isinstance(block[-1], ast.Return)
            for at in range(first, len(block) + (0 if ends else 1)):
                for text in added(rule):
                    what = ast.parse(text).body
                    yield edited(
                        rule,
                        k,
                        lambda n, name=name, at=at, what=what: getattr(n, name).__setitem__(slice(at, at), what),
                    )


def together(rule: ast.FunctionDef) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield a leader's rule with numbers in place of others everywhere at once, and at most one statement more."""
    names = [
        n
        for n in ast.walk(rule)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in numbers_of(rule)
    ]
    names.sort(key=lambda n: (n.lineno, n.col_offset))
    own = [n.id for n in names]
    l, f = servers_of(rule)
    others = (*numbers_of(rule), *(text.format(l=l, f=f) for text in OF_A_LEADER))
    first = 1 if ast.get_docstring(rule) else 0
    for more in ("", *added(rule)):
        for chosen in product(others, repeat=len(names)):
            if list(chosen) == own and not more:
                continue
            new = copy.deepcopy(rule)
            for name, text in zip(names, chosen, strict=True):
                put(new, name, ast.parse(text, mode="eval").body)
            new.body[first:first] = ast.parse(more).body
            ast.fix_missing_locations(new)
            yield f"{', '.join(chosen)}{more and '; + '}{' '.join(more.split())}", new


def put(rule: ast.FunctionDef, old: ast.Name, new: ast.expr) -> None:
    """Put an expression in the place of the name that stood where an earlier copy of the rule has it."""

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            same = (node.lineno, node.col_offset) == (old.lineno, old.col_offset)
            return copy.deepcopy(new) if same and isinstance(node.ctx, ast.Load) else node

    Put().visit(rule)


def edited(rule: ast.FunctionDef, place: int, change: Any) -> tuple[str, ast.FunctionDef]:
    """Return what a change of a node is, and the rule with it."""
    new = copy.deepcopy(rule)
    change(list(ast.walk(new))[place])
    ast.fix_missing_locations(new)
    old, text = (ast.unparse(r).splitlines() for r in (rule, new))
    lines = [f"+ {line.strip()}" for line in text if line not in old or text.count(line) > old.count(line)]
    lines += [f"- {line.strip()}" for line in old if line not in text or old.count(line) > text.count(line)]
    return "; ".join(lines), new


def compiled(module: ModuleType, name: str, new: ast.FunctionDef, place: Path) -> FunctionType:
    """Return a rule with an edit, as the text would mean it."""
    original = vars(module)[name]
    place.write_text(f"from __future__ import annotations\n\n\n{ast.unparse(new)}\n")
    names: dict[str, Any] = {}
    for known in (sync, broadcast, releases, storage, learner, shutdown, snapshots, module):
        names |= vars(known)
    beside = {k: v for k, v in names.items() if isinstance(v, FunctionType)}
    exec(compile(place.read_text(), str(place), "exec"), names)
    function: FunctionType = names[name]
    vars(function).update(vars(original))
    vars(function)["beside"] = {vars(original).get("apart", {}).get(k, k): v for k, v in beside.items()}
    return function


class Judged:
    """A row in which edits are judged.

    Attributes:
        broken: schedules that broke an edit, the latest first; other edits are tried on these before they are explored.
        counts: how many edits came to each end.
    """

    def __init__(self, row: Row, seconds: float, merged: bool) -> None:
        self.row, self.seconds, self.merged = row, seconds, merged
        self.broken: list[tuple[int, ...]] = []
        self.counts: dict[str, int] = {}
        self.edit, self.own = "", True

    def model(self, of: Row, split: bool) -> Model:
        """Return the model of the finding's release with every other fix and the edit, in the budget of a row."""
        row, repairs = self.row, (*self.row.others, *(self.row.fix if self.own else (self.edit,)))
        return Model(configuration(row.release, repairs, USUAL | of.budget, split, of.start, row.settings))

    def end(self, function: FunctionType, name: str) -> str:
        """Return what an edit comes to: `holds`, or why it is none."""
        PROTOCOL.variants.pop(self.edit, None)
        self.edit = f"edit{sum(self.counts.values())}"  # what is known of a variant is known by its name
        PROTOCOL.variants[self.edit] = Variant(
            self.edit, "one rule with an edit", {name: function}, over=tuple(PROTOCOL.variants), repairs=True
        )
        try:
            return self.asked()
        except (LanguageError, KeyError) as problem:
            return f"is outside the language: {type(problem).__name__}"

    def asked(self) -> str:
        """Return the checks of an edit, or of the finding's own repair, in order."""
        model = self.model(self.row, False)
        without = NOT_JUDGED.get(self.row.issue, ())
        everything = [p for p in properties_of("zookeeper") if p.name not in without]
        own = [p for p in everything if p.name == self.row.breaks]
        if self.breaks_again(model, own[0]):
            return "breaks the row's property, by a known run"
        also = [next(r for r in ROWS if r.issue == name) for name in ALSO]
        stages = [(model, own, ""), (model, everything, "")]
        stages += [(self.model(r, False), everything, f" in the budget of {r.issue}") for r in also]
        stages += [] if self.merged else [(self.model(self.row, True), everything, " (each step by itself)")]
        for k, (asked, judged, where) in enumerate(stages):
            code, _ = Compiled.of(asked, judged, True)
            r = Explorer(code, 2).run(Limits(None, None, self.seconds, None), False)
            if r.violations:
                found = next(iter(r.violations.values()))
                if k == 0:
                    self.broken.insert(0, found.schedule)
                    return "breaks the row's property"
                return f"breaks {found.property.name} after {found.depth}{where}"
            if not r.complete:
                return f"is open after {r.distinct} states{where}"
            if k == 0 and self.row.breaks not in r.witnessed:
                return "does not reach the premise"
        return "holds"

    def breaks_again(self, model: Model, own: Any) -> bool:
        for schedule in self.broken[:12]:
            try:
                replay(build_trace(model, own, schedule))
            except Exception:  # the run is none of this edit, or breaks nothing there
                continue
            return True
        return False


def main() -> None:
    """Judge every edit, and print those that hold."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("finding", choices=RULES)
    words.add_argument("--seconds", type=float, default=60.0, help="for each exploration")
    words.add_argument("--rule", action="append", help="these alone")
    words.add_argument("--merged", action="store_true", help="do not ask again with every step by itself")
    words.add_argument("--together", action="store_true", help="several edits of a leader's rule at once")
    words.add_argument("--own", action="store_true", help="parts of the finding's own repair left out")
    words.add_argument("--list", action="store_true", help="print the edits, and judge none")
    words.add_argument("--first", type=int, default=1, help="the first edit to judge, to go on with a search")
    words.add_argument("--last", type=int, help="the last edit to judge")
    said = words.parse_args()
    row = next(r for r in ROWS if r.issue == said.finding)
    judged = Judged(row, said.seconds, said.merged)
    if not said.list:
        print(f"the repair of the row: {judged.asked()}", flush=True)
        judged.own = False
    with tempfile.TemporaryDirectory() as made:
        k = 0
        rules = [(module, name, name) for module, name in RULES[said.finding]]
        for module, name, stood in [OWN[said.finding]] if said.own else rules:
            if said.rule and name not in said.rule:
                continue
            tree = ast.parse(textwrap.dedent(inspect.getsource(vars(module)[name]))).body[0]
            assert isinstance(tree, ast.FunctionDef)
            tree.decorator_list = []
            seen: set[str] = set()
            for what, new in together(tree) if said.together else edits(tree):
                text = ast.unparse(new)
                if text in seen:
                    continue
                seen.add(text)
                if said.own and len(list(ast.walk(new))) >= len(list(ast.walk(tree))):
                    continue  # as large
                k += 1
                if k < said.first or k > (said.last or k):
                    continue
                if said.list:
                    print(f"{k}. {name}: {what}")
                    continue
                end = judged.end(compiled(module, name, new, Path(made) / f"edit{k}.py"), stood)
                judged.counts[end] = judged.counts.get(end, 0) + 1
                print(f"{k}. {name}: {what}: {end}", flush=True)
    for end, n in sorted(judged.counts.items(), key=lambda pair: -pair[1]):
        print(f"{n:5} {end}")


if __name__ == "__main__":
    main()
