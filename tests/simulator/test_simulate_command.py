"""`zabcheck simulate`: what it prints and writes, the events it tells, and bad questions."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.commands import running
from tests.commands.running import interrupted
from zabspec.simulator.run import Run, play

# seed 7, 3 nodes, 1000 rounds, 1 proposal: one of the lab's vectors
SEVEN = ("--seed", "7", "--nodes", "3", "--rounds", "1000", "--proposals", "1")
SEVENS = next(
    line.split("\t")[5]
    for line in (Path(__file__).parents[1] / "data" / "vectors.tsv").read_text().splitlines()
    if line.startswith("7\t3\t1000\t1\t-\t")
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return running.run("simulate", *arguments)


def events_in(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


# --- the digest, the dump, the cluster -----------------------------------------------------------


@pytest.mark.parametrize("engine", [(), ("--engine", "interpret"), ("--engine", "compiled")])
def test_the_digest_and_nothing_else(engine: tuple[str, ...]) -> None:
    result = run(*SEVEN, *engine)
    assert (result.exit_code, result.stdout, result.stderr) == (0, SEVENS, "")


def test_the_dump_is_what_was_hashed() -> None:
    assert run(*SEVEN, "--dump", "dump").stdout == SEVENS
    assert hashlib.sha256(Path("dump").read_bytes()).hexdigest() == SEVENS


def test_a_partition() -> None:
    """Pairs out of range are ignored (reading 15), spaces are not minded."""
    plain = run("--partition", "0,1,1,0").stdout
    assert plain != run().stdout
    assert plain == run("--partition", "0,1, 1,0,9,0,0,-1").stdout
    assert run("--partition", "3,0").stdout == run().stdout


def test_show_writes_stretches() -> None:
    """A crashed leader's epoch and the next, each as one stretch."""
    result = run("--seed", "42", "--rounds", "2000", "--proposals", "20", "--crash", "1@900", "--show")
    joined = re.sub(r"\n {6,}", " ", result.stdout)  # a long row goes on in the next line
    rows = [re.split(" {2,}", line) for line in joined.splitlines() if line.startswith("p")]
    both = "zab-0..8 <1,1..9>, zab-9..19 <2,1..11>"
    assert [row[-1] for row in rows[1:]] == [both, "zab-0..8 <1,1..9>", both]


def test_json() -> None:
    answer = json.loads(run("--seed", "14", "--json", "--check").stdout)
    assert answer["run"]["seed"] == 14
    assert answer["exit_code"] == 1
    assert answer["sha256"] == run("--seed", "14").stdout
    assert [p["id"] for p in answer["processes"]] == [0, 1, 2]
    state = play(Run(14)).state
    assert [len(p["history"]) for p in answer["processes"]] == [len(state.history[p]) for p in range(3)]
    verdicts = {p["name"]: p for p in answer["properties"]}
    assert verdicts["integrity"] == {"name": "integrity", "verdict": "holds"}
    assert verdicts["primary-integrity"]["verdict"] == "premise not reached"
    assert verdicts["total-order"]["tick"] == 336
    assert verdicts["total-order"]["why"].startswith("p0 delivered t1 <1,1> before t2 <1,2>, but p1")


def test_check() -> None:
    assert run("--check").exit_code == 0
    result = run("--seed", "14", "--check")
    assert result.exit_code == 1
    row = " ".join(re.split(r"\n(?=\S)", result.stdout[result.stdout.index("\nagreement ") + 1 :])[0].split())
    assert row.startswith("agreement violated at tick 671")
    assert row.endswith("p0 delivered t1 <1,1> but not t4 <1,4>, and p1 delivered t4 <1,4> but not t1 <1,1>.")


def test_flags_beyond_the_lab_do_what_they_say() -> None:
    """Each changes the run, and the run is the one they describe."""
    plain = run("--rounds", "1500").stdout
    for flags in (
        ("--crash", "1@400"),
        ("--cut", "0-1@300", "--cut", "2-1@300"),
        ("--cut", "0:1@10", "--cut", "1:0@10", "--cut", "2:0@10"),
        ("--timeout", "1@250", "--timeout", "0@251"),
        ("--delay", "30:60"),
    ):
        assert run("--rounds", "1500", *flags).stdout != plain, flags
    healed = run("--cut", "0-1@10", "--heal", "1-0@11", "--show").stdout
    assert healed == run("--show").stdout
    ways = (("--cut", "0-1@300"), ("--cut", "0:1@300", "--cut", "1:0@300"))
    both, each = (json.loads(run("--protocol", "zab", *cut, "--json").stdout) for cut in ways)
    assert both.pop("request") != each.pop("request")
    assert both == each


@pytest.mark.slow(seconds=1)
def test_a_variant_and_a_network_of_zab() -> None:
    flags = ("--protocol", "zab", "--check")
    assert run(*flags).exit_code == 0
    assert run(*flags, "--network", "fifo").stdout == run(*flags).stdout
    assert run(*flags, "--network", "lossy").exit_code == 0
    broken = run(*flags, "--variant", "commit-on-propose")
    assert broken.exit_code == 1
    said = " ".join(broken.stdout.split())
    assert re.search(r"delivered-is-chosen violated at tick \d+", said)
    assert re.search(r"p\d delivered t1 <1,1>, but no quorum", said)


# --- events --------------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
def test_events_are_the_run() -> None:
    """What is sent is delivered, dropped or in flight; what is delivered was accepted and abcast."""
    assert run("--seed", "14", "--events", "events").stdout == run("--seed", "14").stdout
    events = events_in("events")
    counts = Counter(e["event"] for e in events)
    state = play(Run(14)).state
    assert counts["send"] == state.sim_seq
    assert counts["send"] == counts["deliver"] + state.sim_queued
    assert counts["abcast"] == state.abcasts == 5
    assert counts["abdeliver"] == sum(state.delivered_length[p] for p in range(3))
    assert [e["tick"] for e in events] == sorted(e["tick"] for e in events)
    sent = {e["seq"]: e for e in events if e["event"] == "send"}
    for e in events:
        if e["event"] == "deliver":
            was = sent.pop(e["seq"])
            assert was["arrives"] == e["tick"]
            assert (was["from"], was["to"], was["message"]) == (e["from"], e["to"], e["message"])
    roles = ["Looking"] * 3
    for e in events:
        if e["event"] == "role":
            assert roles[e["process"]] == e["from"] != e["to"]
            roles[e["process"]] = e["to"]
    assert roles == [("Looking", "Following", "Leading")[state.role[p]] for p in range(3)]


def test_events_of_faults() -> None:
    flags = ("--crash", "2@300", "--recover", "2@500", "--cut", "0-1@600", "--heal", "0-1@700", "--events", "events")
    assert run(*flags).exit_code == 0
    events = events_in("events")
    struck = [(e["tick"], e["event"]) for e in events if e["event"] in ("crash", "recover", "cut", "heal")]
    assert struck == [(300, "crash"), (500, "recover"), *[(600, "cut")] * 2, *[(700, "heal")] * 2]
    for e in events:
        if e["event"] == "drop" and e["why"] == "down":
            assert e["to"] == 2
            assert 300 <= e["tick"] < 500
        elif e["event"] == "drop":
            assert e["why"] == "blocked"
            assert {e["from"], e["to"]} == {0, 1}
            assert 600 <= e["tick"] < 700
    whys = Counter(e["why"] for e in events if e["event"] == "drop")
    assert whys["down"] > 0
    assert whys["blocked"] > 0


def test_events_of_connections() -> None:
    flags = ("--protocol", "zab", "--seed", "3", "--lose", "1:0@100", "--lose", "0:1@100", "--lose", "2:1@100")
    assert run(*flags, "--proposals", "30", "--events", "events").exit_code == 0
    events = events_in("events")
    counts = Counter(e["event"] for e in events)
    assert counts["lose"] == 3
    assert counts["lost"] >= 2
    assert counts["connect"] == counts["oracle"] >= 3
    numbers: dict[tuple[int, int, int], int] = {}
    for e in events:  # FIFO: each connection's messages in turn
        if e["event"] == "deliver" and e["from"] != e["to"]:
            key = (e["from"], e["to"], e["connection"])
            assert e["number"] == numbers.get(key, 0) + 1
            numbers[key] = e["number"]
    assert counts["send"] == counts["deliver"] + sum(e["event"] == "drop" and "seq" in e for e in events)


@pytest.mark.slow(seconds=1)
def test_nothing_more_is_sent_over_a_lost_connection() -> None:
    """Not before the notice of the loss either: the leader proposes on, and that is lost."""
    flags = ("--protocol", "zab", "--seed", "3", "--rounds", "300", "--proposals", "99", "--delay", "4:12")
    run(*flags, "--events", "events")
    leader = next(e["process"] for e in events_in("events") if e["event"] == "role" and e["to"] == "Leading")
    follower = next(p for p in range(3) if p != leader)
    run(*flags, "--lose", f"{follower}:{leader}@200", "--events", "events")
    old: list[dict[str, Any]] = []
    for e in events_in("events"):
        if e["tick"] >= 200 and e.get("from") == leader and e.get("to") == follower:
            if e["event"] == "send":
                break
            old.append(e)
    unsent = [e for e in old if e["event"] == "drop" and e["why"] == "closed" and "seq" not in e]
    assert len({e["tick"] for e in unsent}) > 2
    # what was on its way arrives until the notice, and the rest never
    assert any(e["event"] == "deliver" for e in old)


# --- no answer -----------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
def test_ctrl_c_stops_a_long_run() -> None:
    run("--nodes", "7", "--check")  # compiled before the clock runs
    # ten seconds and more even when compiled: a fast machine must not be done before it is interrupted
    flags = ("simulate", "--rounds", "4000000", "--nodes", "7", "--proposals", "60", "--check")
    for after in (1.0, 2.0, 4.0, 8.0):  # on a busy machine it takes a while to begin
        code, out, err, seconds = interrupted(*flags, after=after)
        # a second on a machine of one's own; others may share this one
        assert seconds < 3
        if code == 3:
            assert (out, err) == ("", "zabcheck: interrupted; there is no verdict\n")
            return
    pytest.fail("it was never interrupted while it ran")


def test_a_check_that_puts_nothing_to_the_test_is_no_verdict() -> None:
    result = run("--check", "--rounds", "1")
    assert "premise not reached" in result.stdout
    assert " holds" not in result.stdout
    assert result.exit_code == 3
