"""A fault: a row for the kind of step and one for its budget, then its effect in each world.

Flags, reports, traces and their types follow from the rows. The effect stands once in the explorer's world and once
in what a script sets up for the simulator, which must come to the same state (docs/decisions/0005). Here the network of
datagrams loses all that is in flight at once; 35 is the next free number. Then add a row to
docs/reference/faults-and-networks.md, and write the fault's rule into docs/reference/semantics.md and the second
semantics (`zabspec/second/`): compare the steps taken, too, since equal states show little of a fault that takes steps
away. Say in `zabspec/live/` which of its steps are fair, or refuse it there, and name it in
`OF_WORLDS` of `tests/second/generator/features.py`. A fault that stops a process
gates each step that a world offers: `list_all` and what it calls, and `zabspec/worlds/priority.py`.
"""

from __future__ import annotations

from recipe import after, before, run

before(
    "zabspec/worlds/steps.py",
    "# fmt: on",
    """
BLACKOUT = row(
    StepKind(35, "blackout", ("", "", ""), "blackout", (DATAGRAMS,), "blackouts", by="network", said="network: {label}")
)
""",
)
before(
    "zabspec/worlds/steps.py",
    '        Budget("heartbeats"',
    """
        Budget("blackouts", "blackout", "Losses of all that is in flight", {DATAGRAMS: 0}),
""",
)
after(
    "zabspec/configuration.py",
    "    heartbeats: int = UNSET",
    """
    blackouts: int = UNSET
""",
)
before(
    "checker/requests/base/model.py",
    "    heartbeats: Annotated",
    """
    blackouts: Annotated[Amount | None, Option(BUDGETS["blackouts"].help())] = None
""",
)
before(
    "zabspec/worlds/datagrams.py",
    "    CRASH,",
    """
    BLACKOUT,
""",
)
before(
    "zabspec/worlds/datagrams.py",
    "    fill_budgets(s)",
    """
    s.blackouts_left = s.BLACKOUTS
""",
)
before(
    "zabspec/worlds/datagrams.py",
    "    for k in range(s.CHANGES):",
    """
    if s.blackouts_left > 0 and len(s.in_flight) > 0:
        emit_nobodys(out, BLACKOUT, 0)
""",
)
before(
    "zabspec/worlds/datagrams.py",
    "    elif kind == ENVIRONMENT:",
    """
    elif kind == BLACKOUT:
        s.blackouts_left = s.blackouts_left - 1
        s.in_flight.clear()
""",
)
after(
    "traces/record/flight.py",
    "Forget the datagrams that a received one overtook",
    """
        del self.queue[len(s.in_flight) :]
""",
)
after(
    "traces/record/over_datagrams.py",
    "    def set_up(",
    """
        if word.kind == "blackout":
            while mail := scripted.abstraction.bag(scripted.state):
                scripted.names["lose_mail"](scripted.state, mail[0].place)
            return None
""",
)
run("zabcheck --protocol db19 --nodes 2 --txns 1 --timeouts 1 --blackouts 1 --depth 8 --no-trace", "1 blackout")
