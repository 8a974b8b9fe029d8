"""Simulated runs are judged as explored ones are: the same verdicts in both engines, the first tick, and random
fault schedules that find what is unsafe and nothing else."""

from __future__ import annotations

import random

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import find as find_example
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from checker.cli import main
from tests.models import faults_of
from traces.judging.simulated import Judged, Verdict, judge, judged_for, judged_properties, verdicts
from zabspec.language.front.frontend import FrontEnd
from zabspec.model import ConfigError
from zabspec.simulator.dump import Dump
from zabspec.simulator.model import Cluster
from zabspec.simulator.run import Fault, Run, play

NAMES = {protocol: [p.name for p in judged_properties(protocol)] for protocol in ("zab", "db19")}


def broken(run: Run) -> list[str]:
    """The properties that a run breaks."""
    mask = verdicts(run)
    return [name for k, name in enumerate(NAMES[run.protocol]) if mask >> k & 1]


# --- a seeded run of the lab that breaks something -----------------------------------------------

BROKEN = Run(14)  # the second proposal overtakes the first on its way to a follower


def test_a_plain_run_of_the_lab_breaks_what_it_breaks() -> None:
    assert broken(BROKEN) == ["total-order", "agreement", "local-primary-order", "po-causal-order", "prefix"]
    assert broken(Run(42)) == []


def test_the_tick_is_the_first() -> None:
    """Just before it the property holds, and after it it does not."""
    judged, said = judge(BROKEN)
    at = {v.of.name: v.broken_at for v in said}
    assert at["total-order"] == at["prefix"] < at["agreement"]
    for name in ("total-order", "agreement"):
        bit = 1 << NAMES["db19"].index(name)
        judged.begin(BROKEN)
        assert not judged.judge_until(at[name], 0) & bit
        assert judged.judge_until(at[name] + 1, 0) & bit


def test_what_is_mended_later_was_broken() -> None:
    """This run breaks agreement for a while; judged at its end alone it would keep it."""
    assert "agreement" in broken(BROKEN)
    cluster = Cluster("db19", "", 3, 8, True, 255)
    judged = judged_for(cluster, "compiled")
    judged.begin(BROKEN)
    judged.advance(BROKEN.rounds)
    names = judged_for(cluster, "interpret").names
    assert names["agreement"](judged.state)
    assert not names["total_order"](judged.state)


def words_of(said: list[Verdict]) -> list[tuple[str, bool, int]]:
    return [(v.of.name, v.met, v.broken_at) for v in said]


# --- properties that are judged only where they are named -------------------------------------------


def test_a_run_is_judged_by_the_tree_where_it_is_named() -> None:
    """Of a lab's run in which a follower delivers the second of a leader without the first."""
    _, said = judge(Run(14, rounds=400, proposals=3), "interpret", names=("tree-reads", "tree-writes"))
    assert words_of(said) == [("tree-reads", True, 206), ("tree-writes", True, -1)]
    assert not {"tree-reads", "tree-writes"} & {*NAMES["db19"], *NAMES["zab"]}
    done = CliRunner().invoke(main, ["simulate", "--check", "--property", "tree-reads", "--proposals", "3", *QUICK])
    assert done.exit_code == 1
    assert "finds /a at version" in " ".join(done.output.split())
    assert "agreement" not in done.output


QUICK = ("--seed", "14", "--rounds", "400", "--engine", "interpret")


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "variant"), [("db19", ""), ("zab", "commit-on-propose")])
def test_both_engines_say_the_same(protocol: str, variant: str) -> None:
    source = random.Random(3)
    violated = 0
    for _ in range(3):
        run = random_schedule(source, protocol, variant)
        (first, said), (second, again) = judge(run), judge(run, "interpret")
        assert words_of(said) == words_of(again), run
        assert first.state.key() == second.state.key()
        violated += any(not v.held for v in said)
    assert violated > 0


def random_schedule(source: random.Random, protocol: str, variant: str) -> Run:
    faults = tuple(Fault(source.randrange(300), "timeout", source.randrange(3)) for _ in range(source.randrange(8)))
    return Run(source.randrange(2**64), 3, 300, 8, faults=faults, protocol=protocol, variant=variant, delays=20)


@pytest.mark.parametrize("protocol", ["db19", "zab"])
def test_observing_changes_nothing(protocol: str) -> None:
    """The ghosts are there, and the dump is the same."""
    for seed in range(30):
        run = Run(seed, protocol=protocol, faults=(Fault(300, "timeout", seed % 3), Fault(500, "crash", 1)))
        judged, said = judge(run)
        plain = play(run)
        dumps = [Dump(x.layout).canonical(x.state) for x in (judged, plain)]
        assert dumps[0] == dumps[1]
        assert sum(v.met for v in said) > 5


def test_every_property_of_what_all_protocols_have_is_judged_and_no_other() -> None:
    assert set(NAMES["db19"]) - set(NAMES["zab"]) == {"delivered-stands"}
    assert {"integrity", "total-order", "agreement", "primary-integrity", "prefix"} <= set(NAMES["zab"])
    assert "durability" in NAMES["zab"]
    assert not {"invariant-1", "invariant-5"} & set(NAMES["zab"])


def test_at_most_63_proposals() -> None:
    assert len(judge(Run(42, proposals=63))[1]) == len(NAMES["db19"])
    with pytest.raises(ConfigError, match="at most 63 proposals, not 64"):
        verdicts(Run(42, proposals=64))


def test_only_an_observed_cluster_is_judged() -> None:
    with pytest.raises(ValueError, match="observed"):
        Judged(Cluster("db19", "", 3, 8, False))


# --- durability ----------------------------------------------------------------------------------

ERASED = Run(1778, rounds=332, proposals=1)  # a late NewLeader erases what two processes had acknowledged


@pytest.mark.parametrize("engine", ["compiled", "interpret"])
def test_what_is_delivered_and_on_too_few_disks_is_seen(engine: str) -> None:
    """At the end one process of three has the transaction that it delivered; nothing else is broken."""
    judged, said = judge(ERASED, engine)
    assert [(v.of.name, v.broken_at) for v in said if not v.held] == [("durability", 173)]
    assert [len(judged.state.history[p]) for p in range(3)] == [0, 1, 0]
    assert [len(judged.state.delivered[p]) for p in range(3)] == [0, 1, 0]


def test_a_history_that_is_lost_and_nothing_observed_is_judged() -> None:
    """An empty history put in the place of one that was delivered is no event: the histories are looked at."""
    judged = judged_for(Cluster("zab", "", 3, 8, True, 255), "interpret")
    judged.begin(Run(7, rounds=400, proposals=2, protocol="zab"))
    assert not judged.judge_until(400, 0)
    s, bit = judged.state, 1 << NAMES["zab"].index("durability")
    assert len(s.delivered[0]) == 2
    before, s.sim_rounds = s.observations, 500
    for p in (0, 1):
        s.history[p].clear()
    assert judged.judge_until(401, 0) == bit
    assert s.observations == before


def test_what_is_judged_of_the_state_is_the_stable_histories() -> None:
    """`judge` looks again where something was observed or a history changed: no property may read more."""
    for protocol in ("zab", "db19"):
        judged = judged_for(Cluster(protocol, "", 3, 8, True, 255), "interpret")
        program = judged.cluster.program
        front = FrontEnd(judged.layout, judged.namespace(), program.types, program.handlers)
        seen = {f.name for f in judged.layout.schema.fields if f.observed} | {"history"}
        for p in judged.properties:
            for function in (p.holds.__name__, p.witness.__name__):
                front.function(function)
                assert front.program.reads[function] <= seen, p.name


# --- random fault schedules (acceptance: the protocol holds, its unsafe variants do not) ---------

ROUNDS, PROPOSALS = 400, 8


@st.composite
def schedules(draw: st.DrawFn, variant: str) -> Run:
    """Any faults, at any time, of any process: crashes with a recovery, cuts that heal, lost
    connections, timeouts; and any seed and delays."""
    faults: list[Fault] = []
    process, tick = st.integers(0, 2), st.integers(0, ROUNDS - 1)
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(("timeout", "timeout", "crash", "lose", "cut")))
        at, a = draw(tick), draw(process)
        b = (a + draw(st.integers(1, 2))) % 3
        until = min(ROUNDS - 1, at + draw(st.integers(1, 80)))
        faults += faults_of(kind, at, until, a, b)
    delays = draw(st.sampled_from((3, 10, 30)))
    seed = draw(st.integers(0, 2**64 - 1))
    return Run(seed, 3, ROUNDS, PROPOSALS, (), tuple(faults), 1, delays, "zab", variant, "fifo")


met = 0  # premises met in the runs of the protocol itself


@pytest.mark.slow
@settings(
    max_examples=350,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),
)
@given(schedules(""))
def check_the_protocol(run: Run) -> None:
    global met
    assert broken(run) == []
    met |= judged_for(Cluster("zab", "", 3, PROPOSALS, True, 255), "compiled").met


@pytest.mark.slow
def test_random_faults_break_nothing_of_the_protocol() -> None:
    check_the_protocol()
    missed = [name for k, name in enumerate(NAMES["zab"]) if not met >> k & 1]
    assert missed == []  # every property was put to the test


@pytest.mark.parametrize("network", ["fifo", "lossy", "unordered", "duplicating"])
def test_other_channels_break_the_protocol(network: str) -> None:
    """What the paper's channels never do, these do now and then; the same seeds are clean under fifo. Proposals are
    closer than messages take, so that there is something to overtake."""
    runs = [Run(seed, 3, 150, 8, delays=20, protocol="zab", network=network) for seed in range(400)]
    found = sum(bool(broken(run)) for run in runs)
    assert found == 0 if network == "fifo" else found > 40


UNSAFE = ("commit-on-propose", "no-sync", "small-quorum")  # `test_variants.py` explores all of them


@pytest.mark.slow
@pytest.mark.parametrize("variant", UNSAFE)
def test_the_same_machine_finds_an_unsafe_variant(variant: str) -> None:
    try:
        run = find_example(
            schedules(variant),
            lambda run: bool(verdicts(run)),
            random=random.Random(11),
            settings=settings(
                max_examples=1500,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate,),
            ),
        )
    except NoSuchExample:
        pytest.fail("nothing was found")
    assert broken(run)
    # it is the changed rule that breaks it
    assert not broken(Run(**{**vars(run), "variant": ""}))
