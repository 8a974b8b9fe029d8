"""Find parts of a user protocol that are never used, which may be a mistake, to warn about them."""

from __future__ import annotations

from types import FunctionType

from zabspec.authoring.checks import OURS, is_ours
from zabspec.authoring.reading import called_by
from zabspec.authoring.unreceived import sendings
from zabspec.language.layout.bytecode import functions_that_run, global_names
from zabspec.language.layout.source import definition
from zabspec.model import Model


def unused(model: Model) -> list[str]:
    """Return the unused messages and functions of a protocol, each with its line; none for this project's protocols.

    These are messages that nothing sends, and functions of its own file that take a state and that nothing calls.
    """
    text = model.protocol.text
    if text.released or text.module.__name__.partition(".")[0] in OURS:
        return []
    own = {n: f for n, f in vars(text.module).items() if isinstance(f, FunctionType) and not is_ours(f)}
    instead = [f for v in text.variants.values() for f in v.overrides.values()]
    called = {name for f in functions_that_run([*own.values(), *instead]) for name in global_names(f.__code__)}
    called |= called_by(text.declared.world) | {f.__name__ for f in text.receipts.values()}
    called |= {name for of_roles in text.hooks.values() for name in of_roles.values()}
    called |= {f.__name__ for a in (*text.actions, *text.changes) for f in (a.function, a.when) if f is not None}
    called |= {f.__name__ for f in instead}
    called |= {
        f.__name__ for start in ("", *(s.name for s in text.declared.starts)) for f in text.marked.beginning(start)
    }
    called |= {name for f in (*own.values(),) if hasattr(f, "claim") for name in (f.__name__, f.claim.witness.__name__)}
    called |= {g.waits.__name__ for g in text.goals} | {n for n, f in own.items() if hasattr(f, "ends_runs")}
    sent = {s.kind for s in sendings([f for f in own.values() if f.__name__ != "<lambda>"], definition, {})}
    out = [f"nothing sends {m.name}" for m in model.union.messages if m.name not in sent]
    for name, f in own.items():
        takes_state = next(iter(f.__annotations__.values()), "") == "State"
        if takes_state and name not in called and f.__module__ == text.module.__name__:
            out.append(f"nothing calls {name} ({text.source}:{f.__code__.co_firstlineno})")
    return out
