"""Check local names for parts of the state: a sequence or a message with a local name is a view of the state.

Later changes show in a view, and a module has only values. So a name that is read after its view was changed cannot be
translated: such a program is refused, with the name and the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from checker.proofs.tla.env import Untranslatable, walk
from checker.proofs.tla.places import place_of
from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import live_in, reads
from zabspec.language.layout.schema import Layout, Role

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
