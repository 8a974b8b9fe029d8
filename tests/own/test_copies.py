"""A copy of a protocol of this project, in a file of one's own, is that protocol: one mechanism serves both."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.commands.init import START
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.reduce.reducible import why_not_narrowed
from checker.explore.result import Limits
from invariants import properties_of
from tests.commands.running import TINY
from tests.copies import copy_of
from tests.second.reference import explore, world_of
from tests.sources import never, some
from traces.explain.effects import changes
from traces.record.runner import build_trace
from zabspec.model import ConfigError, Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.simulator.run import Run

SMALL = {"nodes": 2, "txns": 1, "timeouts": 1}


@pytest.mark.slow(seconds=6)
def test_a_copy_is_explored_as_the_protocol_is(tmp_path: Path) -> None:
    """Of zab: below."""
    found = []
    for protocol in ("db19", copy_of("db19", tmp_path)):
        model = Model(Configuration(protocol, **SMALL))  # type: ignore[arg-type]
        judged = [p for p in properties_of(protocol) if p.default and not p.protocols]
        code, _ = Compiled.of(model, judged, True)
        r = Explorer(code, 1).run(Limits(12, None, None, None), True)
        found.append((r.levels, r.raw_levels, r.generated, r.event_counts, r.step_counts, r.witnessed, [*r.violations]))
        assert len(r.levels) > 8
    assert found[0] == found[1]


@pytest.mark.slow(seconds=4)
def test_transactions_over_connections_need_no_bounds_of_the_world(tmp_path: Path) -> None:
    """A copy of zab that declares its budgets, epochs and channels by itself has the states of zab."""
    own = Model(Configuration("zab", **SMALL, crashes=1, losses=1))  # type: ignore[arg-type]
    path = Path(copy_of("zab", tmp_path))
    declared = 'budgets={"timeouts": 1, "crashes": 1, "losses": 1}'
    bounds = f"epochs=lambda size: {own.epochs}, flight=lambda size: {own.channels}"
    path.write_text(path.read_text().replace("bounded_by_world=True", f"{declared}, {bounds}"))
    other = Model(Configuration(str(path), **SMALL))  # type: ignore[arg-type]
    assert (own.epochs, own.channels) == (other.epochs, other.channels)
    assert why_not_narrowed(own) == ""
    assert why_not_narrowed(other) == "it declares its own budgets (budgets, and not bounded_by_world)"
    found = []
    for model in (own, other):
        judged = [p for p in properties_of("zab") if p.default and p.of == "history"]
        r = Explorer(Compiled.of(model, judged, True)[0], 1).run(Limits(11, None, None, None), True)
        found.append((r.levels, r.raw_levels, r.generated, r.event_counts, r.witnessed, [*r.violations]))
    assert found[0] == found[1]


def test_a_copy_has_the_bounds_and_reductions_of_the_protocol(tmp_path: Path) -> None:
    """What differs between protocols is declared; where the file lies makes no difference."""
    for name in ("zab", "ladis", "db19"):
        own, other = (Model(Configuration(p)) for p in (name, copy_of(name, tmp_path)))
        assert (own.epochs, own.channels) == (other.epochs, other.channels)
        assert own.most_steps == other.most_steps
        assert own.configuration.budget == other.configuration.budget
        assert why_not_narrowed(own) == why_not_narrowed(other)
        assert own.program.schema == other.program.schema


SWAPS = """        if len(s.log[l]) == 2:
            t = s.log[l][0]
            s.log[l][0] = s.log[l][1]
            s.log[l][1] = t
"""


@pytest.mark.slow
def test_an_initial_history_with_all_that_was_chosen_in_another_order_is_found(tmp_path: Path) -> None:
    """C_e is a sequence (DSN'11, VI.2): nothing is missing, and no other property is violated within these bounds."""
    path = Path(copy_of("zab", tmp_path))
    text, last = path.read_text(), "        s.stage[l] = SYNCHRONIZING\n"
    assert text.count(last) == 1
    path.write_text(text.replace(last, last + SWAPS))
    budgets = {"timeouts": 1, "crashes": 0, "losses": 0}
    model = Model(Configuration(str(path), nodes=2, txns=2, **budgets))  # type: ignore[arg-type]
    judged = [p for p in properties_of("zab") if p.default and p.of == "history"]
    r = Explorer(Compiled.of(model, judged, True)[0], 1).run(Limits(None, None, None, None), False)
    assert [(name, found.depth) for name, found in r.violations.items()] == [("chosen-in-later-histories", 33)]
    found = r.violations["chosen-in-later-histories"]
    trace = build_trace(model, found.property, found.schedule)
    assert "t1 <1,1> is out of order in the initial history of epoch 2" in changes(trace, 33)
    request = {"protocol": str(path), "nodes": 2, "network": "fifo", "budgets": budgets, "sizes": {"txns": 2}}
    book = explore({**request, "properties": ["chosen-in-later-histories"]})
    assert book["verdicts"]["chosen-in-later-histories"] == {"result": "violated", "depth": 33}


@pytest.mark.slow(seconds=1)
def test_a_trace_of_a_copy_says_which_source_it_is_of(tmp_path: Path) -> None:
    """That a protocol changes with releases only is believed of this project's own modules alone."""
    copied = copy_of("zab", tmp_path)
    assert (PROTOCOLS["zab"].text.digest, len(PROTOCOLS[copied].text.digest)) == ("", 64)
    path = Path(copied)
    path.write_text(path.read_text().replace("return is_quorum(s, members)", "return len(members) > 0"))
    assert len({PROTOCOLS[copied].text.digest, ""}) == 2
    flags = shlex.split("--nodes 2 --txns 1 --timeouts 2 --crashes 0 --losses 0 --no-trace --json")
    done = CliRunner().invoke(main, ["--protocol", copied, *flags])
    assert done.exit_code == 1, done.output
    verdicts = {p["name"]: p["verdict"] for p in json.loads(done.stdout)["properties"]}
    assert "violated" in verdicts.values()


@pytest.mark.slow(seconds=1)
def test_a_copy_is_simulated_as_the_protocol_is(tmp_path: Path) -> None:
    for name in ("zab", "db19"):
        digests = []
        for protocol in (name, copy_of(name, tmp_path)):
            done = CliRunner().invoke(main, ["simulate", "--protocol", protocol, "--seed", "5", "--rounds", "600"])
            assert done.exit_code == 0, done.output
            digests.append(re.search(r"[0-9a-f]{64}", done.stdout)[0])  # type: ignore[index]
        assert digests[0] == digests[1], name


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("shared_names=True", "shared_names is for protocols that come with zabcheck"),
        ('extends=("zabspec.zab",)', "extends is for protocols that come with zabcheck"),
        ('variants="no.such.module"', "variants: cannot import no.such.module"),
        ('variants="json"', "variants: json has no VARIANTS"),
        ('oracle="no_such_module"', "oracle: cannot import no_such_module"),
        ('progress="json"', "progress is for protocols that come with zabcheck: mark functions of the file with @prog"),
        ('lab_oracle="json"', "lab_oracle: json has no PROTOCOL"),
    ],
)
def test_a_feature_that_a_file_can_not_have_is_one_sentence(argument: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    text = START.read_text(encoding="utf-8").partition("PROTOCOL = declare(")[0]
    path.write_text(f"{text}PROTOCOL = declare(__name__, budgets={{'begins': 1, 'refusals': 1}}, {argument})\n")
    with pytest.raises(ConfigError, match=rf"mine\.py:{text.count(chr(10)) + 1}: {said}"):
        Model(Configuration(str(path)))


CLAIMS = (
    """
from zabcheck.language import safety


"""
    + some("somebody_leads", "s.role[p] == LEADING", "A process leads.")
    + never(
        "nobody_is_established",
        "s.role[p] == LEADING and s.stage[p] == ESTABLISHED",
        "No leader is established (it is violated).",
        "somebody_leads",
    )
)


@pytest.mark.slow(seconds=6)
def test_replicas_are_judged_by_the_papers_and_by_their_own_file(tmp_path: Path) -> None:
    """Explored and simulated alike; a property of its own is looked at after each event of a tick."""
    copied = copy_of("zab", tmp_path, CLAIMS)
    flags = (*TINY, "--no-trace", "--json")
    done = CliRunner().invoke(main, ["--protocol", copied, *flags, "--keep-going"])
    assert done.exit_code == 1, done.output
    verdicts = {p["name"]: p["verdict"] for p in json.loads(done.stdout)["properties"]}
    assert verdicts["nobody-is-established"] == "violated"
    assert verdicts["integrity"] == "holds"
    assert {"durability", "agreement"} <= verdicts.keys()
    done = CliRunner().invoke(main, ["simulate", "--protocol", copied, "--rounds", "600", "--check", "--json"])
    assert done.exit_code == 1, done.output
    simulated = {p["name"]: p["verdict"] for p in json.loads(done.stdout)["properties"]}
    assert simulated["nobody-is-established"] == "violated"
    assert "integrity" in simulated


@pytest.mark.parametrize("flight", ["6", "(5, 7)"])
def test_room_over_connections_is_what_the_explorer_has(flight: str, tmp_path: Path) -> None:
    """Of a channel either way, and of a history, where a copy is accepted again (B1, C2)."""
    budgets = f'budgets={{"duplicates": 2}}, epochs=lambda size: 3, flight=lambda size: {flight}'
    path = Path(copy_of("zab", tmp_path))
    path.write_text(path.read_text().replace("bounded_by_world=True", budgets))
    found = Model(Configuration(str(path), nodes=2, txns=1))
    world = world_of({"protocol": str(path), "nodes": 2, "sizes": {"txns": 1}})
    (history,) = (f.kind.capacity for f in found.parts.fields if f.name == "history")
    assert (found.channels, history) == ((world.model.up, world.model.down), world.model.size.log)
    assert history == 3


OUTSIDE = """
from zabcheck.language import safety


def anything(s: State) -> bool:
    \"\"\"Any state.\"\"\"
    return True


@safety(witness=anything)
def sums(s: State) -> bool:
    \"\"\"Nobody's role is below none (it is outside the language).\"\"\"
    return sum([s.role[p] for p in range(s.NODES)]) >= 0


def nothing_calls_this(s: State) -> int:
    return 1
"""


@pytest.mark.slow(seconds=1)
def test_a_file_that_says_it_is_released_is_checked_as_every_other(tmp_path: Path) -> None:
    """That it need not be checked is believed of this project's own modules alone."""
    copied = copy_of("zab", tmp_path, OUTSIDE)
    assert "released=True" in Path(copied).read_text()
    flags = ("--nodes", "2", "--txns", "1", "--depth", "2", "--no-trace", "--no-symmetry", "--engine", "interpret")
    done = CliRunner().invoke(main, ["--protocol", copied, *flags])
    assert done.exit_code == 2, done.output
    assert "zab_copy.py:" in done.output
    Path(copied).write_text(Path(copied).read_text().replace("sum([s.role[p] for p in range(s.NODES)]) >= 0", "True"))
    done = CliRunner().invoke(main, ["--protocol", copied, *flags])
    assert "nothing_calls_this" in done.output
    done = CliRunner().invoke(main, ["--protocol", copied, "--variant", "none-such"])
    assert f"`zabcheck variants --protocol {copied}`" in " ".join(done.output.split())


OF_ITS_OWN = """
from zabcheck.language import action


def may_rest(s: State, p: Node) -> bool:
    return s.role[p] == LEADING


@action(when=may_rest, budget="rests")
def rest(s: State, p: Node) -> None:
    s.ready[p] = False
"""


@pytest.mark.slow(seconds=4)
def test_what_its_world_bounds_may_have_a_budget_of_its_own(tmp_path: Path) -> None:
    """Explored and simulated: of the world's budgets a simulated run takes no amounts, of its own it does."""
    path = Path(copy_of("zab", tmp_path, OF_ITS_OWN))
    path.write_text(path.read_text().replace("bounded_by_world=True", 'bounded_by_world=True, budgets={"rests": 1}'))
    assert Model(Configuration(str(path), **SMALL)).configuration.budgets == "rests=1"  # type: ignore[arg-type]
    done = CliRunner().invoke(main, ["simulate", "--protocol", str(path), "--nodes", "2", "--rounds", "400", "--json"])
    assert done.exit_code == 0, done.output
    assert dict(Run(1, protocol=str(path), budgets="rests=3").budget)["rests"] == 3
    assert Run(1).budget == ()
