"""Scenario files give the output they say, verify and replay; and an output that is wrong is put right.

`pytest tests/replay/test_scenarios.py --rewrite` writes the outputs anew; the change is reviewed as a diff
(`CONTRIBUTING.md`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from checker.ci.shipped import FOLDER
from tests.scenario import Played, Scenario, ScenarioError, played
from traces import read_trace, verify, write_trace
from traces.replay.replay import replay

FILES = sorted((Path(__file__).parents[1] / "scenarios").glob("*.txt"))
NAMES = [path.stem for path in FILES]


@cache
def played_once(name: str) -> Played:
    return played(Scenario.of(FILES[NAMES.index(name)]))


# --- the files -----------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_gives_what_it_says(name: str, request: pytest.FixtureRequest) -> None:
    path = FILES[NAMES.index(name)]
    if request.config.getoption("--rewrite"):
        path.write_text(played_once(name).text, encoding="utf-8")
    difference = played_once(name).difference(path.name, path.read_text(encoding="utf-8"))
    if difference:
        pytest.fail(difference, pytrace=False)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("name", NAMES)
def test_its_traces_verify_and_replay_through_the_simulator(name: str) -> None:
    """The whole run, and for each property it breaks the run to there."""
    for run in played_once(name).runs:
        whole, *broken = run.traces()
        assert whole.states == run.trace().states
        assert [t.property_name for t in broken] == [p.name for p in run.properties if p.name in run.broken]
        for trace in (whole, *broken):
            verify(trace)
            assert len(replay(trace).steps) == len(trace.steps)


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("figure", [3, 4])
def test_the_gallery_has_the_figures_as_their_scenarios_play_them(figure: int, request: pytest.FixtureRequest) -> None:
    (run,) = played_once(f"ladis-protocol-figure-{figure}").runs
    path = FOLDER / f"ladis08-figure-{figure}.trace.json"
    if request.config.getoption("--rewrite"):
        write_trace(run.trace(), path)
    assert read_trace(path) == run.trace()


@pytest.mark.slow(seconds=4)
def test_what_the_scenarios_show() -> None:
    """Nothing of `zab` breaks; of `db19` and `ladis` what the stories are about does."""
    found = {name: {p for run in played_once(name).runs for p in run.broken} for name in NAMES}
    assert {name for name, broken in found.items() if broken} == {
        "db19-healed-partition",
        "db19-overtaken-proposal",
        "db19-zxid-used-twice",
        "ladis-two-leaders",
    }
    assert "one-leader-an-epoch" in found["ladis-two-leaders"]
    assert "unique-zxid" in found["db19-zxid-used-twice"]
    assert {"total-order", "delivered-is-chosen"} <= found["db19-overtaken-proposal"]
    assert "total-order" in found["db19-healed-partition"]
    stories = [run for name in NAMES if name.startswith("zab-paper") for run in played_once(name).runs]
    taken = {label for run in stories for step in run.steps for label in step.label.split(", ")}
    assert set(stories[0].model.program.steps) <= taken


@pytest.mark.parametrize("name", ["zab-late-joiner", "ladis-figure-4", "db19-zxid-used-twice"])
def test_an_output_that_is_wrong_is_put_right(name: str) -> None:
    """A line lost, one added and one changed: all are as they were when the file is played again."""
    lines = played_once(name).text.splitlines()
    outputs = [k for k, line in enumerate(lines) if line.startswith("    ")]
    lines[outputs[1]] += " and more"
    lines.insert(outputs[2], "    nothing of the kind")
    del lines[outputs[-1] + 1]
    text = "\n".join(lines) + "\n"
    assert text != played_once(name).text
    assert played(Scenario(name, text)).text == played_once(name).text


def outcome(scenario: Scenario) -> str:
    """What comes of a scenario; a complaint, if a command cannot be carried out."""
    try:
        return played(scenario).text
    except ScenarioError as problem:
        return str(problem)


@pytest.mark.parametrize("other", ["seed=43", "seed=42 least_delay=2", "seed=42 delays=1"])
def test_another_simulation_shows(other: str) -> None:
    first, second = (
        played(
            Scenario("run", f"simulate db19 {word} nodes=3 rounds=400 proposals=1\nrun to tick 238\nrun to tick 242\n")
        ).text
        for word in ("seed=42", other)
    )
    assert first.splitlines()[1:] != second.splitlines()[1:]


# --- the commands --------------------------------------------------------------------------------

LED = "start zab nodes=3 txns=1\nthe oracles of p0 and p1 name p0\neveryone receives until nothing is in flight\n"
VOTING = "start db19 nodes=3 txns=2 timeouts=1\np2's election timer fires\np0 receives Vote from p2\n"
SYNCED = VOTING + "p2 receives Vote from p0\neveryone receives until nothing but Vote is in flight\n"
TICKS = "simulate db19 seed=1 nodes=3 rounds=9 proposals=1\nrun to tick 5\n"

WRONG = [
    ("p0 abcasts\n", 1, "a scenario begins with `start` or `simulate`"),
    ("# why\n    said\n", 2, "output that no command stands before"),
    (LED + "p0 dances\n", 4, "there is no command 'p0 dances' here"),
    (LED + " p0 abcasts\n", 4, "there is no command ' p0 abcasts' here"),
    (LED + "p0 abcasts  # why\n", 4, "there is no command"),
    (LED + "p0 abcasts \n", 4, "there is no command"),
    (LED + "run to tick 5\n", 4, "there is no command"),
    (LED + "p0 crashs\n", 4, "there is no command"),
    (LED + "p3 abcasts\n", 4, "there is no process p3"),
    (LED + "p0 receives PING from p1\n", 4, "there is no message PING"),
    (LED + "everyone receives until nothing but PING is in flight\n", 4, "there is no message PING"),
    (LED + "everyone receives until nothing is in flight between them\n", 4, "it is `everyone receives"),
    (LED + "p0 and p1 receive until nothing is in flight\n", 4, "it is `everyone receives"),
    (LED + "p0 times out\n", 4, "no timeouts are left"),
    (LED + "p0's heartbeat timer fires\n", 4, "no heartbeats are left"),
    (LED + "p0 abcasts\np0 abcasts\n", 5, "no txns are left"),
    (LED + "drop ACK from p0 to p1\n", 4, "only datagrams are dropped"),
    (LED + "the oracles of p1 and p2 name p0\n", 4, "the oracle of p1 cannot name p0 now"),
    ("start zab nodes=3 nodes=3\n", 1, "a number is given twice"),
    ("start zab nodes=many\n", 1, "start is given nodes=N txns=N"),
    ("start zab rounds=3\n", 1, "start is given nodes=N txns=N"),
    ("start zab nodes=9\n", 1, "--nodes must be 1 to 7, not 9"),
    ("start pbft nodes=3\n", 1, "there is no protocol 'pbft'"),
    ("start zab nodes=3 variant=pbft\n", 1, "there is no variant 'pbft' of zab"),
    ("start zab, nodes=3\n", 1, "a scenario begins with"),
    (SYNCED + "p2 abcasts\np2 abcasts\np0 receives Propose from p2\n", 8, r"any of Propose\(txn=t1 <1,1>\), Propose\("),
    (SYNCED + "everyone receives until nothing is in flight\n", 6, "after 300 receipts there is still something"),
    (TICKS + "p0 abcasts\n", 3, "there is no command"),
    (TICKS + "run to tick 5\n", 3, "the run is at tick 5 and ends at tick 9"),
    (TICKS + "run to tick 10\n", 3, "the run is at tick 5 and ends at tick 9"),
    (TICKS + "at tick 4 p0 crashes\n", 3, "the run is at tick 5 already"),
    (TICKS + "at tick 9 p0 crashes\n", 3, "the run has ticks 0 to 8"),
    (TICKS + "check\n", 3, "a simulated run is judged at its end"),
    (TICKS + "at tick 6 the connection of p0 to p1 is lost\n", 3, "is not for db19, which uses datagrams"),
]


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize(("text", "line", "message"), WRONG, ids=[message for *_, message in WRONG])
def test_what_is_not_understood_fails_with_file_and_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ScenarioError, match=rf"^story\.txt:{line}: .*{message}") as error:
        played(Scenario("story.txt", text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LED + "p1 abcasts\n", "not possible"),
        (LED + "p0 recovers\n", "not possible"),
        (LED + "p0 learns of the loss of p1\n", "not possible"),
        (LED + "p0's election timer fires\n".replace("election timer fires", "oracle names p1"), "not possible"),
        (LED + "p1 receives PROPOSE from p0\n", "not possible: in flight from p0 to p1 is nothing"),
        (LED + "p2's oracle names p0\np0 receives ACK from p2\n", "not possible: in flight from p2 to p0 is CEPOCH"),
        (VOTING + "p0 receives Commit from p2\n", "not possible: in flight from p2 to p0 is LookForLeader"),
        (VOTING + "drop Commit\n", "not possible: there is none in flight"),
        (VOTING + "drop Vote\np2 receives Vote from p0\n", "not possible: in flight from p0 to p2 is nothing"),
        (LED + "in flight\n", "nothing"),
        (LED + "everyone receives until nothing is in flight\n", "nothing is received"),
    ],
)
def test_a_step_that_is_not_possible_is_one_line(text: str, said: str) -> None:
    assert played(Scenario("story.txt", text)).text.splitlines()[-1] == "    " + said
    assert played(Scenario("story.txt", text)).text.splitlines()[-2][:1] != " "


def test_faults_take_effect_in_their_tick_whenever_they_are_told() -> None:
    """A run is played again when a fault is added; what was shown before it stays."""
    told_late = played(
        Scenario(
            "late",
            "simulate zab seed=3 nodes=3 rounds=300 proposals=2\nrun to tick 150\n"
            "at tick 200 p1 crashes\nat tick 250 p1 recovers\nrun to tick 240\nrun to tick 300\n",
        )
    )
    told_first = played(
        Scenario(
            "first",
            "simulate zab seed=3 nodes=3 rounds=300 proposals=2\nat tick 200 p1 crashes\n"
            "at tick 250 p1 recovers\nrun to tick 150\nrun to tick 240\nrun to tick 300\n",
        )
    )
    late, first = ([line for line in p.text.splitlines() if line.startswith("    ")] for p in (told_late, told_first))
    assert late == first
    assert any("p1  DOWN" in line for line in late)
