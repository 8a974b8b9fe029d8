"""Every variant does where it is shown what the gallery says: it breaks the properties named, at the depths
named, in runs that the CPython world confirms; or it is exhausted and nothing breaks."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from checker.ci.variants import Shown
from checker.cli import main
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from invariants import MODULES, binding
from invariants.binding import bound
from invariants.registry import STEP, Property, property_named
from tests.protocols.explored import JUDGED, SHOWN, UNSAFE, explored, reach
from traces import build_trace
from traces.replay.replay import replay
from zabspec import zab
from zabspec.language.python.reference import StateView
from zabspec.model import ConfigError, Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.protocols.zab_variants import VARIANTS, Variant
from zabspec.worlds import actor
from zabspec.worlds.over_connections import WORLD

DOCS = Path(__file__).parents[2] / "docs"

SAFE = [SHOWN[v.name] for v in VARIANTS.values() if v.safe]


# By far the largest spaces, of ten million states, are not gone through: what breaks in them breaks at depth 45, and
# they end at 70. The shortest run, which both variants that break have, is taken.
LARGEST = Configuration(nodes=3, txns=2, timeouts=2, crashes=0, losses=0)
WITH_DISKS = Configuration(nodes=3, txns=1, timeouts=1, crashes=0, losses=0, power_losses=1)  # `zabcheck gallery` does
SHORTEST = (
    16777216, 33554432, 16842752, 33554688, 50331648, 50397184, 33554688, 33554432, 50397184, 117506048, 16908800,
    16843264, 33686016, 33685760, 50463232, 33686016, 50397696, 33685760, 50397696, 33685760, 50463232, 33686016,
    50331648, 50463232, 33554688, 33554432, 100794368, 50331648, 117571584, 16908800, 100663296, 50331648, 67109120,
    16777728, 33686016, 33685504, 50463232, 50332160, 33686016, 33685504, 50332160, 50463232, 33686016, 33685504,
    50332160,
)  # fmt: skip


def size_of(v: Shown) -> Configuration:
    """The configuration in which a variant is shown, without it."""
    return replace(v.configuration, variant="")


def marked(variants: Iterable[Shown]) -> list[Any]:
    """Parameters of a test, without the largest; two faults and two transactions take a while."""
    slow = pytest.mark.slow
    return [
        pytest.param(v, id=v.variant, marks=slow if size_of(v).faults > 1 and size_of(v).txns > 1 else ())
        for v in variants
        if size_of(v) not in (LARGEST, WITH_DISKS)
    ]


def looked_through(c: Configuration, r: Exploration) -> bool:
    return r.complete if reach(c) is None else r.expanded_levels == reach(c)


def kept(model: Model, p: Property, words: tuple[int, ...]) -> list[bool]:
    """What the CPython world says of a property after each step of a schedule."""
    names = bound(model)
    before, out = model.program.initial(), []
    for word in words:
        steps = [0] * 512
        names["enabled"](before, steps)
        assert word & 0xFFFFFFFF in steps[1 : steps[0] + 1]
        after = StateView(model.program.layout, bytes(before.buffer))
        names["apply"](after, word)
        assert not after.error
        holds = names[p.holds.__name__]
        out.append(bool(holds(before, after, after) if p.of == STEP else holds(after)))
        before = after
    return out


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("v", marked(UNSAFE))
def test_unsafe_variant_breaks_what_it_says(v: Shown) -> None:
    model = Model(v.configuration)
    result = explored(model.configuration)
    assert looked_through(model.configuration, result)
    assert not result.error
    found_at = {name: found.depth for name, found in result.violations.items()}
    if v.check.values.get("keep_going"):
        told = [(name, depth) for name, depth in v.breaks.items() if depth <= (reach(v.configuration) or depth)]
        assert list(found_at.items()) == told, "in the order in which they are told, too"
    else:
        shortest = min(v.breaks.values())
        assert min(found_at.values()) == shortest
        assert {name for name, depth in found_at.items() if depth == shortest} == set(v.breaks)
    for found in result.violations.values():
        assert kept(model, found.property, found.schedule) == [True] * (found.depth - 1) + [False]
        assert len(replay(build_trace(model, found.property, found.schedule)).steps) == found.depth


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("v", [pytest.param(v, id=v.variant) for v in UNSAFE if size_of(v) == LARGEST])
def test_the_shortest_run_of_the_largest_spaces_breaks_what_it_says(v: Shown) -> None:
    model = Model(v.configuration)
    ((name, depth),) = v.breaks.items()
    broken = property_named(name, JUDGED)
    assert kept(model, broken, SHORTEST) == [True] * (depth - 1) + [False]
    assert len(replay(build_trace(model, broken, SHORTEST)).steps) == depth


# What a rule about the second transaction does; the others change elections, or a transaction by itself.
# (`acks-ignored` is explored with two by explore/test_golden.py.)
OF_TWO = {
    "catch-up-at-commit", "commit-named-only", "commit-out-of-order", "counter-rolls-over", "forget-acks",
    "keep-commit-index", "missing-only", "pause-while-joining", "unanimous",
}  # fmt: skip
MET = {"chosen-in-later-histories", "durability", "integrity", "one-leader-an-epoch", "one-primary-an-epoch"}


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("v", marked(SAFE))
def test_safe_variant_is_exhausted_and_holds(v: Shown) -> None:
    """With one transaction there is a tenth of the states; `zabcheck gallery` goes through all of them."""
    c = v.configuration if v.variant in OF_TWO else replace(v.configuration, txns=1)
    result = explored(c)
    assert looked_through(c, result)
    assert not result.error
    assert not result.violations
    wanted = set(v.check.expect.required or (p.name for p in JUDGED))
    assert wanted == set(result.witnessed) if c.txns > 1 else wanted >= set(result.witnessed) >= MET
    assert (v.check.expect.verdict, v.check.expect.exhausted) == ("holds", True)


def test_variants_combine_in_the_order_of_their_table() -> None:
    """All repairs by name are `repaired`; one name or several, given as they like."""
    db19 = PROTOCOLS["db19"]
    repairs = [v.name for v in db19.variants.values() if v.repairs]
    assert db19.combined(",".join(reversed(repairs))) == ",".join(repairs)
    assert (
        db19.overrides(",".join(repairs)) == db19.overrides("+".join(reversed(repairs))) == db19.overrides("repaired")
    )
    assert db19.combined("no-holes", "discovery-once") == db19.combined("discovery-once+no-holes")
    c = Configuration("db19", "no-holes, discovery-once", nodes=2, txns=1)
    assert c == Configuration("db19", "discovery-once,no-holes", nodes=2, txns=1)
    assert {"in_discovery", "appends"} <= set(Model(c).program.overrides)


def test_two_variants_of_one_function_need_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    zab = PROTOCOLS["zab"]
    first, second = next(
        (a, b)
        for a, b in itertools.combinations(VARIANTS.values(), 2)
        if any(b.overrides.get(k, f) is not f for k, f in a.overrides.items())
    )
    (function,) = (k for k, f in first.overrides.items() if second.overrides.get(k, f) is not f)
    both = f"{first.name},{second.name}"
    with pytest.raises(ConfigError, match=f"{first.name} and {second.name} both change {function}"):
        Configuration(variant=both)
    for above, below in ((first, second), (second, first)):
        with monkeypatch.context() as patched:
            patched.setitem(zab.variants, above.name, replace(above, over=(below.name,)))
            assert zab.overrides(zab.combined(both))[function] is above.overrides[function]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("--variant", "no-holes,no-holes"), "variant no-holes is named twice"),
        (("--variant", "no-holes,no-hole"), "there is no variant 'no-hole' of db19; did you mean no-holes"),
        (("--repair", "repaired"), "repaired of db19 repairs no rule: use it as a --variant"),
    ],
)
def test_what_does_not_combine_is_refused(given: tuple[str, ...], problem: str) -> None:
    result = CliRunner().invoke(main, ["--protocol", "db19", *given])
    assert result.exit_code == 2
    assert problem in result.stderr


def test_what_is_repaired_together_is_explored_and_told() -> None:
    given = ["--protocol", "db19", "--nodes", "2", "--txns", "1", "--timeouts", "1", "--depth", "4", "--no-trace"]
    result = CliRunner().invoke(main, [*given, "--repair", "no-holes,discovery-once"])
    assert "db19 with discovery-once,no-holes, 2 nodes" in " ".join(result.stdout.split())


@pytest.mark.parametrize("v", VARIANTS.values(), ids=lambda v: v.name)
def test_variant_is_a_difference(v: Variant) -> None:
    """It stands in for functions there are, with the same parameters."""
    assert VARIANTS[v.name] is v
    assert PROTOCOLS["zab"].overrides(v.name) is v.overrides
    for name, function in v.overrides.items():
        base = getattr(zab, name, None) or getattr(actor, name)
        assert len(base.__annotations__) == len(function.__annotations__)
        assert base.__annotations__["return"] == function.__annotations__["return"]
    for name in SHOWN[v.name].breaks:
        property_named(name, JUDGED)


def test_no_variant_is_the_protocol() -> None:
    assert not PROTOCOLS["zab"].overrides("")


def broken_networks() -> list[Any]:
    """The commands of benchmarks/results/networks.json, each with the depths of its table; of two of one network, the
    smaller."""
    out = []
    for name, one in json.loads((DOCS.parent / "benchmarks/results/networks.json").read_text("utf-8")).items():
        if not name.endswith("-3"):
            depths = {name: depth for names, depth in one["rows"] for name in names.split(", ")}
            out.append(pytest.param(one["command"].split()[1:], depths, id=name))
    return out


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("words", "depths"), broken_networks())
def test_a_network_breaks_what_the_figures_say(words: list[str], depths: dict[str, int]) -> None:
    done = CliRunner().invoke(main, [*words, "--no-trace", "--json"])
    report = json.loads(done.stdout)
    assert done.exit_code == 1
    assert report["coverage"]["error"] is None
    assert report["coverage"]["request_covered"]
    assert report["coverage"]["exhausted"] == ("--depth" not in words)
    found = {p["name"]: p["violation"]["depth"] for p in report["properties"] if p["violation"]}
    assert found == depths


def test_every_broken_network_has_figures() -> None:
    commands = [" ".join(p.values[0]) for p in broken_networks()]
    used = {name for name in WORLD.networks for words in commands if f"--network {name} " in words}
    assert used == WORLD.networks.keys() - {"fifo"}


def anchors(*roots: str) -> set[str]:
    """The entries of docs/explanation/readings.md that comments cite, as `(readings: ...)`."""
    texts = (p.read_text(encoding="utf-8") for root in roots for p in (DOCS.parent / root).rglob("*.py"))
    return {
        " ".join(name.split())
        for text in texts
        for name in re.findall(r"\((?:`docs/)?readings(?:\.md`)?: ([^)]+)\)", text)
    }


def test_readings_have_what_the_comments_cite() -> None:
    lines = (DOCS / "explanation/readings.md").read_text(encoding="utf-8").splitlines()
    cited = anchors("zabspec", "invariants", "checker")
    assert "re-admission" in cited
    assert {f"### {name}" for name in cited} <= set(lines)


@pytest.mark.parametrize("name", sorted({v.variant for v in SAFE}))
def test_readings_name_the_variant(name: str) -> None:
    assert f"`{name}`" in (DOCS / "explanation/readings.md").read_text(encoding="utf-8")


REJOIN = '''
"""Whether a follower ever acknowledges an epoch that it had promised before."""

from zabspec.language.python.lang import State
from zabspec.worlds.steps import TO_FOLLOWER
from zabspec.zab import DISCOVERY, NEWEPOCH, SYNCHRONIZATION


def nothing_asked(before: State, event: State, after: State) -> bool:
    """Always."""
    return True


def acknowledges_again(before: State, event: State, after: State) -> bool:
    """f.1.2 with f.p = e'."""
    if event.event != TO_FOLLOWER or event.event_message.kind != NEWEPOCH:
        return False
    f = event.event_process
    completes = before.phase[f] == DISCOVERY and after.phase[f] == SYNCHRONIZATION
    return completes and before.promised_epoch[f] == after.promised_epoch[f]
'''


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize(("variant", "again"), [("", True), ("strict-rejoin", False)])
def test_strict_rejoin_locks_a_follower_out(
    variant: str, again: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower that promised e joins e again after a lost connection; to the letter of f.1.2, never."""
    path = tmp_path / "rejoin_texts.py"
    path.write_text(REJOIN)
    module = ModuleType("rejoin_texts")
    monkeypatch.setitem(sys.modules, "rejoin_texts", module)
    exec(compile(REJOIN, str(path), "exec", dont_inherit=True), module.__dict__)
    monkeypatch.setattr(binding, "MODULES", (*MODULES, module))
    rejoins = Property("acknowledges-again", STEP, "f.1.2", "", module.nothing_asked, module.acknowledges_again)
    model = Model(Configuration(variant=variant, nodes=3, txns=1, timeouts=0, crashes=0, losses=1))
    result = Explorer(Compiled(model, [rejoins], True), 1).run(Limits())
    assert result.complete
    assert (rejoins.name in result.witnessed) == again
