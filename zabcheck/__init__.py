"""zabcheck from Python: explore, audit, plan, replay, prove and more, each a function with a typed answer.

    import zabcheck

    found = zabcheck.explore(nodes=3, txns=2, timeouts=1, crashes=0, losses=0)
    print(found.sentence)

Every keyword is the option of that name on the command line. What has an answer is returned, whatever the answer is;
`RequestError` is raised where the command would end with 2, `NoVerdict` where it would end with 3 and has nothing to
show. `docs/how-to/python-and-pytest.md` has examples. Nothing is imported until it is used.

The functions are in `checker/api.py`, the answers in `checker/answers.py`; here are only the public names.
`language.py` is for authors of protocols, `pytest_plugin.py` for explorations as tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zabcheck.shadowed_packages import in_the_way

if TYPE_CHECKING:
    from checker.answers import (
        Audited,
        Bounded,
        Checked,
        Conformed,
        Explored,
        Exported,
        Graphed,
        Inductive,
        Judged,
        Linted,
        Listed,
        Lived,
        LogsAudited,
        Minimised,
        Mutated,
        Planned,
        Proved,
        QuorumsChecked,
        Realised,
        Reenacted,
        Refined,
        Replayed,
        Reported,
        Searched,
        Simulated,
        Swept,
        TrackRecord,
        Witnessed,
    )
    from checker.api import (
        audit,
        audit_logs,
        bmc,
        causal_graph,
        chaos,
        check,
        conform,
        explore,
        export,
        gallery,
        graph,
        judge,
        lint,
        live,
        minimise,
        mutate,
        plan,
        properties,
        prove,
        prove_inductive,
        quorums,
        realise,
        reenact,
        refine,
        replay,
        report,
        search,
        simulate,
        state_graph,
        sweep,
        variants,
        witness,
        zookeeper,
    )
    from checker.errors import NoVerdict, RequestError
    from invariants.registry import Property
    from traces.record.trace import Trace
    from zabspec.protocols.registry import Protocol

__all__ = [
    "Audited",
    "Bounded",
    "Checked",
    "Conformed",
    "Explored",
    "Exported",
    "Graphed",
    "Inductive",
    "Judged",
    "Linted",
    "Listed",
    "Lived",
    "LogsAudited",
    "Minimised",
    "Mutated",
    "NoVerdict",
    "Planned",
    "Property",
    "Protocol",
    "Proved",
    "QuorumsChecked",
    "Realised",
    "Reenacted",
    "Refined",
    "Replayed",
    "Reported",
    "RequestError",
    "Searched",
    "Simulated",
    "Swept",
    "Trace",
    "TrackRecord",
    "Witnessed",
    "audit",
    "audit_logs",
    "bmc",
    "causal_graph",
    "chaos",
    "check",
    "conform",
    "explore",
    "export",
    "gallery",
    "graph",
    "judge",
    "lint",
    "live",
    "minimise",
    "mutate",
    "plan",
    "properties",
    "prove",
    "prove_inductive",
    "quorums",
    "realise",
    "reenact",
    "refine",
    "replay",
    "report",
    "search",
    "simulate",
    "state_graph",
    "sweep",
    "variants",
    "witness",
    "zookeeper",
]  # fmt: skip

# The names of this package, each with the module that has it.
PLACES = {
    **dict.fromkeys(
        (
            "audit", "audit_logs", "bmc", "causal_graph", "chaos", "check", "conform", "explore", "export", "gallery",
            "graph", "judge", "lint", "live", "minimise", "mutate", "plan", "properties", "prove", "prove_inductive",
            "quorums", "realise", "reenact", "refine", "replay", "report", "search", "simulate", "state_graph",
            "sweep", "variants", "witness", "zookeeper",
        ),
        "checker.api",
    ),
    **dict.fromkeys(("RequestError", "NoVerdict"), "checker.errors"),
    **dict.fromkeys(
        (
            "Audited", "Bounded", "Checked", "Conformed", "Explored", "Exported", "Graphed", "Inductive", "Judged",
            "Linted", "Listed", "Lived", "LogsAudited", "Minimised", "Mutated", "Planned", "Proved", "QuorumsChecked",
            "Realised", "Reenacted", "Refined", "Replayed", "Reported", "Searched", "Simulated", "Swept",
            "TrackRecord", "Witnessed",
        ),
        "checker.answers",
    ),
    "Property": "invariants.registry",
    "Protocol": "zabspec.protocols.registry",
    "Trace": "traces.record.trace",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a name of this package from the module that defines it.

    Raises:
        AttributeError: there is none.
        ImportError: another project's package stands in the way of one of ours.
    """
    if name not in PLACES:
        raise AttributeError(f"module 'zabcheck' has no attribute {name!r}")
    sentence = in_the_way()
    if sentence:
        raise ImportError(sentence)
    value = getattr(import_module(PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACES})
