"""Places of a walk are those of the interpreted world, and a walk that is saved replays."""

from __future__ import annotations

import random
from functools import cache

import pytest

from checker.requests.exploring.walked import (
    WalkRequest,
    request_of_address,
    request_of_configuration,
    request_of_row,
    walker_of,
)
from tests.models import judged, model, python_successors
from traces.walk.address import Address, made_of
from traces.walk.saved import trace_of
from traces.walk.view import about, drawn, shown
from traces.walk.walker import HOLDS, VIOLATED, Walker, WalkError, WalkPlace
from zabspec.model import Configuration

SIX = {
    "zab": Configuration(nodes=3, txns=2, timeouts=1, crashes=1, losses=1),
    "variant": Configuration(variant="small-quorum", nodes=2, txns=1, timeouts=0, crashes=0, losses=0),
    "ladis": Configuration("ladis", nodes=3, txns=1, timeouts=1, crashes=1, losses=0),
    "db19": Configuration("db19", nodes=3, txns=1, timeouts=2),
    "zookeeper": Configuration("zookeeper", start="established"),
    "own": Configuration("examples/raft_election.py"),
    "chooses": Configuration("tests/own/texts/two_lines.py", variant="chooses"),
}


@cache
def walker(name: str) -> Walker:
    c = SIX[name]
    return Walker(model(c), judged(c.protocol))


def wander(name: str, seed: int, steps: int) -> WalkPlace:
    """A place at random."""
    source, at = random.Random(seed), walker(name).start
    for _ in range(steps):
        free = [p.index for p in at.possible if p.failure is None]
        if not free:
            break
        at = at.walker.after(at, source.choice(free))
    return at


@pytest.mark.parametrize("name", SIX)
def test_places_are_the_interpreters(name: str) -> None:
    """At each place of random walks the steps and the states after them are those that the interpreter gives by itself,
    and the whole walk, saved, replays in the simulator."""
    c, size = SIX[name], walker(name).layout.size
    end = wander(name, 7, 8)
    place: WalkPlace | None = end
    while place is not None:
        mine = {}
        for p in place.possible:
            after = walker(name).after(place, p.index)
            mine[p.step.word.word] = after.state.key()
            assert after.json == p.step.state
        assert mine == {word: data[:size] for word, data in python_successors(c, place.state.key())}
        place = place.parent
    assert trace_of(end).schedule == end.schedule


def test_alternatives_are_steps_of_their_own() -> None:
    """Each alternative of `choose` is a step with a number, and says which it is."""
    chosen = [s for k in range(4) for s in shown(wander("chooses", 1, k))["steps"] if s["alternative"]]
    assert {s["alternative"] for s in chosen} == {"alternative 1 of 2", "alternative 2 of 2"}


@pytest.mark.parametrize("name", ["zab", "own"])
def test_going_back_changes_nothing(name: str) -> None:
    """A place that is reached again by another way of asking has the same steps, messages numbered alike."""
    end = wander(name, 3, 8)
    fresh = Walker(model(SIX[name]), judged(SIX[name].protocol))
    assert fresh.place(end.path).steps == end.steps
    assert fresh.along(end.schedule).path == end.path
    assert [p.step for p in fresh.place(end.path).possible] == [p.step for p in end.possible]


def test_steps_stand_by_process_faults_last() -> None:
    """The order of steps, which addresses rely on."""
    place = walker("zab").start
    for p in place.possible:
        assert place.possible[p.index] is p
    keys = [(p.fault, p.step.process) for p in place.possible if p.step.process is not None]
    assert keys == sorted(keys)
    assert {True, False} <= {p.fault for p in place.possible}


def test_a_violation_has_its_sentence_and_step() -> None:
    """A step that violates a property says so before it is taken; the place after it says why, and its trace is of
    that property."""
    at = walker("variant").start
    while not any(p.violates for p in at.possible):  # p0 alone, which its own quorum is enough for
        at = at.walker.after(at, 0)
    bad = next(p for p in at.possible if p.violates)
    assert all(v.verdict == HOLDS for v in at.verdicts)
    end = at.walker.after(at, bad.index)
    assert len(end.path) == 11  # the shortest, as an exploration says
    broken = [v for v in end.verdicts if v.verdict == VIOLATED]
    assert {v.property.name for v in broken} == set(bad.violates)
    assert all(v.because and v.violated_at == len(end.path) for v in broken)
    assert trace_of(end).property_name in bad.violates
    said = next(p for p in shown(end)["properties"] if p["name"] == broken[0].property.name)
    assert said["verdict"] == VIOLATED
    assert said["events"]


# --- addresses -------------------------------------------------------------------------------------


def test_an_address_is_read_as_written() -> None:
    """Options, way and place of an address survive being written; a long way has a character a step."""
    a = Address("a b/c+d.py", {"variant": "x,y"}, (1, 34, 35, 1295, 40000, 2), 4, "aa", "0.2.0")
    assert Address.read(a.text) == a
    long = Address("zab", {}, tuple(range(20)) * 3, 60, "0123456789abcdef", "0.2.0")
    assert len(long.text.split("way=")[1]) == 60
    assert Address.read("zab&x=1?nodes=2") == Address("zab&x=1", {"nodes": "2"})  # of a page's text, one & too early


@pytest.mark.parametrize(
    "text",
    ["", "?", "zab?way=Z", "zab?way=z1", "zab?way=zz", "zab?at=3", "zab?at=-1", "zab?x", "zab?a=1&a=2", "zab?way=\n",
     "zab?way=" + "0" * 2001, "zab?A=1", "zab?at=1&way=", "z" * 60_001],
)  # fmt: skip
def test_no_other_text_is_an_address(text: str) -> None:
    with pytest.raises(WalkError):
        Address.read(text)


def test_another_digest_is_refused() -> None:
    """An address names the release that it came from where its texts are others; the order of steps is of them."""
    made = made_of(walker("zab"))
    assert made != made_of(walker("variant"))
    Address("zab", made=made, tool="0.2.0").check(made, "0.2.0")
    with pytest.raises(WalkError, match=r"made by zabcheck 0\.1\.0"):
        Address("zab", made="0" * 16, tool="0.1.0").check(made, "0.2.0")


def test_the_digest_follows_the_source(tmp_path: object) -> None:
    """A protocol of somebody's own with another line in it has another digest; where it lies makes no difference."""
    from pathlib import Path

    folder, text = Path(str(tmp_path)), Path("examples/raft_election.py").read_text("utf-8")
    digests = []
    for name, said in (("one/raft.py", text), ("two/raft.py", text), ("three/raft.py", f"{text}\n# more\n")):
        file = folder / name
        file.parent.mkdir()
        file.write_text(said, "utf-8")
        digests.append(made_of(walker_of(request_of_configuration(Configuration(str(file))))))
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("name", SIX)
def test_a_model_is_its_options(name: str) -> None:
    """A configuration, written as the options of an address, is read as the same."""
    request = request_of_configuration(SIX[name])
    assert request_of_address(request.model.protocol, request.options).configuration() == SIX[name]


def test_a_row_is_the_release_without_its_fix() -> None:
    request = request_of_row("ZK-4643")
    assert "4643" not in request.options["variant"].split(",")
    assert request.options["start"] == "established"
    assert WalkRequest(properties=("agreement",)).options == {"properties": "agreement"}


# --- what is shown ---------------------------------------------------------------------------------


def test_a_view_says_each_step_and_its_changes() -> None:
    """Every possible step says who takes it and what it changes; the fields that change are marked, and no others."""
    place = wander("zab", 11, 6)
    view = shown(place)
    assert [s["index"] for s in view["steps"]] == list(range(len(place.possible)))
    assert all(s["headline"] and (s["changes"] or s["fails"]) for s in view["steps"])
    before, after = shown(place.parent)["fields"], view["fields"]  # type: ignore[arg-type]
    for old, new in zip(before, after, strict=True):
        for was, now in zip(old["cells"], new["cells"], strict=True):
            assert now.get("was", now["now"]) == was["now"]
            assert "was" not in now or now["was"] != now["now"]
    assert {b["name"]: b["left"] for b in view["budgets"]}["crashes"] == place.json["crashes_left"]
    assert about(walker("zab"))["processes"] == ["p0", "p1", "p2"]
    assert drawn(place, 3)["desk"]["body"].count('opacity="0.2"') > 0
    assert 'opacity="0.2"' not in drawn(place, 6)["desk"]["body"]
