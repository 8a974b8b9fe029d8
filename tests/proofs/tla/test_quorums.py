"""The exported module says which sets are quorums: TLC, which counts by itself, reaches the same states and orbits."""

from __future__ import annotations

from pathlib import Path

import pytest

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.result import Exploration, Limits
from checker.proofs.tla.module import Module, module_of
from invariants import properties_of
from invariants.registry import STEP, TERMINAL
from tests.proofs.tla.running import JAR, needs_tlc, run_tlc
from zabspec.model import Configuration, Model

TEXT = Path(__file__).parents[2] / "quorums" / "ballots.py"
SMALL = {"txns": 1, "timeouts": 0, "crashes": 0, "losses": 0}


def explored(c: Configuration, symmetry: bool) -> Exploration:
    judged = [p for p in properties_of(c.protocol) if p.default and p.of not in (STEP, TERMINAL)]
    code, why = Compiled.of(Model(c), judged, symmetry, every_step=True)
    assert not why
    return Explorer(code, 1).run(Limits(), keep_going=True)


def without_invariants(made: Module, symmetry: bool) -> Module:
    lines = made.configured(symmetry=symmetry).splitlines()
    kept = "\n".join(line for line in lines if not line.startswith("INVARIANT") or "TypeOK" in line)
    return Module(made.name, made.text, kept + "\n", made.left_out, made.symmetric)


@needs_tlc
@pytest.mark.slow(seconds=40)
def test_tlc_counts_the_same_of_a_ballot() -> None:
    """All properties are kept out of the way: TLC would stop where two leaders break one."""
    c = Configuration(str(TEXT), quorums="groups {1,2},{3,4},{5}", budgets="asks=1")
    theirs = run_tlc(JAR, without_invariants(module_of(Model(c), (), "Ballots"), False), limit=600)
    ours = explored(c, False)
    assert (theirs.ended, theirs.distinct, theirs.levels) == (True, sum(ours.levels), len(ours.levels))


@needs_tlc
@pytest.mark.slow(seconds=40)
@pytest.mark.parametrize(("nodes", "quorums"), [(3, "weights 2,1,1"), (1, "")])
def test_tlc_counts_the_same_orbits_of_zab(nodes: int, quorums: str) -> None:
    """TLC fails on a symmetry without any renaming, as of one process."""
    c = Configuration(nodes=nodes, quorums=quorums, **SMALL)
    theirs = run_tlc(JAR, without_invariants(module_of(Model(c), (), "Zab"), True), limit=600)
    ours = explored(c, True)
    assert (theirs.ended, theirs.distinct, theirs.levels) == (True, sum(ours.levels), len(ours.levels))


@needs_tlc
@pytest.mark.slow(seconds=10)
def test_tlc_finds_the_two_leaders() -> None:
    c = Configuration(quorums="weights 3,3,-3", **SMALL)
    judged = [p for p in properties_of("zab") if p.name == "one-leader-an-epoch"]
    made = module_of(Model(c), judged, "Zab")
    assert "Quorums == {{p0}, {p1}, {p0, p1}, {p0, p1, p2}}\nIsQuorum(S) == S \\in Quorums\n" in made.text
    theirs = run_tlc(JAR, made, limit=600)
    found = explored(c, True).violations["one-leader-an-epoch"]
    assert (theirs.violated, theirs.depth) == ("OneLeaderAnEpoch", found.depth)


@pytest.mark.slow(seconds=2)
def test_the_module_has_the_system_as_a_definition() -> None:
    text = module_of(Model(Configuration(quorums="weights 2,1,1", **SMALL)), (), "Zab").text
    assert "Quorums == {{p0, p1}, {p0, p2}}\nIsQuorum(S) == \\E q \\in Quorums : q \\subseteq S\n" in text
    assert "Permutations(Node)" in text
    assert "IsQuorum({f[p] : p \\in S}) = IsQuorum(S)" in text
    assert "Cardinality(members)" not in text
    majority = module_of(Model(Configuration(nodes=3, **SMALL)), (), "Zab").text
    assert "IsQuorum" not in majority
    assert "Cardinality(members) >= 2" in majority
