"""Every kind of request: its JSON form, what it refuses, and that its answer needs no command line."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from checker.errors import NoVerdict, RequestError
from checker.proofs.requests import bmc, export_model, prove, quorums
from checker.requests import export, graph, minimise, realise, simulate
from checker.requests.base.kinds import all_kinds, from_json, is_command
from checker.requests.base.request import fields_of
from checker.tables.requests.sweep import SweepRequest
from checker.zookeeper.requests import conformance, plan, reenact, zookeeper
from tests.servers import nowhere
from traces.zookeeper.reenact.distributions import Release
from traces.zookeeper.reenact.plan import ReenactmentPlan
from traces.zookeeper.reenact.player import Played
from traces.zookeeper.reenact.reenactment import ReenactedRun

SERVERS: dict[str, Any] = {
    "release": "3.9.1", "servers": "all", "jar": "a.jar", "variant": "trunc", "retries": 0,
    "patience": 1.0, "output": "o",
}  # fmt: skip
# Of each kind a request with no field at its default.
FULL: dict[str, dict[str, Any]] = {
    "minimise": {"trace": "t.json", "output": "o.json", "search": 1.5},
    "audit-logs": {"servers": ("zk1.log", "zk2.log"), "svg": "l.svg"},
    "export": {"trace": "t.json", "form": "svg", "output": "o.svg", "cone": 3},
    "realise": {"trace": "t.json", "attempts": 3, "time_limit": 2.0, "threads": 1},
    "quorums": {
        "config": "zoo.cfg", "release": "3.6.3", "server_options": ("jute.maxbuffer=5",), "seed": 2**32 - 1,
        "query_limit": 0.5,
    },
    "prove": {"mutant": "no-promise", "seeds": (3,), "query_limit": 1.0, "search": 2.0, "smt2": "q"},
    "plan": {
        "servers": 5, "latency": 10**6, "disk": "ssd", "forced_write": 10**6, "size": 512, "outstanding": 7,
        "slow": 2, "slow_by": 10**6, "quorum": "all", "client": "follower", "reads": "2:1", "history": 9, "missing": 2,
    },
    "sweep": {
        "folder": "swept", "seeds": ("1:9",), "protocol": ("zab",), "variant": ("none",), "network": ("fifo",),
        "oracle": ("lab",), "nodes": (3, 5), "rounds": (9,), "proposals": (2,), "delay": ("1:3",),
        "partition": ("0,1",), "schedule": ("crash 1@3",), "faults": (1,), "fault_kinds": ("cut",), "sample": 3,
        "sample_seed": 0, "quorums": "weights 2,1,1", "master": "local[1]", "events": True,
        "second_opinion": 3,
    },
    "reenact": SERVERS | {"trace": "t.json", "times": 3, "control": True, "without": 2},
    "conformance": SERVERS | {"runs": 3, "seed": 0, "start": "new"},
    "servers": {"release": "3.9.1", "servers": "all"},
    "conform": {"record": "r.jsonl", "release": "3.9.1", "time_limit": 2.0},
    "chaos": {
        "release": "3.9.1", "zookeeper": "build", "jar": "a.jar", "seconds": 5.0, "seed": 3, "clients": 2, "writes": 9,
        "faults": "kill", "record_only": True, "output": "o",
    },
    "zookeeper": {
        "issues": ("ZK-4394",), "time_limit": 2.0, "split": True, "release": "3.9.1", "trace": "t.json",
        "html": "t.html",
    },
    "zookeeper-drift": {"tree": "zk", "against": "3.9.1", "since": "HEAD^..HEAD"},
    "zookeeper-finding": {"run": "ZK-trunc", "output": "folder", "time_limit": 2.0},
}  # fmt: skip


# What does not go with the rest: another request of the kind.
BESIDE: dict[str, dict[str, Any]] = {
    "sweep": {"folder": "swept", "seeds": ("1:9",), "processes": 2},
    "plan": {"config": "zoo.cfg"},
    "prove": {"quorums": "weights 2,1,1"},
    "conform": {"record": "r.jsonl", "variant": "3.9.1,trunc"},
    "reenact": {"trace": "t.json", "zookeeper": "build"},
    "conformance": {"release": "3.9.1", "zookeeper": "build"},
    "chaos": {"release": "3.9.1", "servers": "all"},
}


def test_a_class_of_a_request_is_named_by_its_kind() -> None:
    for name, kind in all_kinds().items():
        camel = "".join(word.capitalize() for word in name.split("-"))
        assert kind.__name__ in (camel, f"{camel}Request")


@pytest.mark.parametrize("kind", FULL)
def test_a_request_is_read_again_as_it_was_written(kind: str) -> None:
    beside = BESIDE.get(kind, {})
    assert set(FULL[kind]) | set(beside) == {f.name for f in fields(all_kinds()[kind])} - set(
        all_kinds()[kind].excluded
    )
    for words in filter(None, (FULL[kind], beside)):
        given = all_kinds()[kind](**words)
        assert all(getattr(given, f.name) != f.default for f in fields(all_kinds()[kind]) if f.name in words)
        written = json.loads(json.dumps(given.as_json()))
        assert set(written) == {"kind", *words}
        assert from_json(written) == given


REFUSED = [
    ("minimise", {"trace": ""}, "name the trace to minimise"),
    ("minimise", {"trace": "/"}, "/: this is a folder"),
    ("minimise", {"search": 0.0}, "--search must be a number of seconds above 0, not 0"),
    ("export", {"trace": ""}, "name the trace to export"),
    ("export", {"form": "tla"}, "--to tla exports a whole model, not a trace: add --model"),
    ("export", {"form": "jsn"}, "there is no format 'jsn'; there are text, json,"),
    ("export-model", {"output": "M.txt"}, "--output must be a file NAME.tla"),
    ("export-model", {"output": "9.tla"}, "--output must be a file NAME.tla"),
    ("export-model", {"output": "é.tla"}, "--output must be a file NAME.tla"),
    ("realise", {"trace": ""}, "name the trace to realise"),
    ("realise", {"attempts": 0}, "--attempts must be 1 or more, not 0"),
    ("realise", {"threads": 0}, "--threads must be 1 or more, not 0"),
    ("realise", {"time_limit": -1.0}, "--time-limit must be a number of seconds above 0, not -1"),
    ("quorums", {"seed": -1}, "--seed must be 0 to 4294967295"),
    ("quorums", {"query_limit": 0.0}, "--query-limit must be a number of seconds above 0, not 0"),
    ("prove", {"seeds": (2**32,)}, "--seed must be 0 to 4294967295"),
    ("plan", {"quorum": "both"}, "--quorum must be majority or all, not 'both'"),
    ("plan", {"config": "zoo.cfg"}, "--servers does not go with a configuration"),
    ("prove", {"seeds": (1, 2)}, "--mutant takes one --seed"),
    ("prove", {"mutant": ""}, "--search needs --mutant"),
    ("prove", {"search": float("nan")}, "--search must be a number of seconds above 0, not nan"),
    ("prove", {"query_limit": 0.0}, "--query-limit must be a number of seconds above 0, not 0"),
    ("sweep", {"folder": ""}, "name the folder of the sweep"),
    ("sweep", {"processes": 2}, "--processes is for this machine, and --master for Spark"),
    ("sweep", {"seeds": ()}, "--seeds is missing, for example --seeds 1:1001"),
    ("sweep", {"sample": None}, "--sample-seed needs --sample"),
    ("sweep", {"sample": 0}, "--sample must be 1 or more, not 0"),
    ("sweep", {"sample_seed": -1}, "--sample-seed must be 0 or more, not -1"),
    ("conform", {"record": ""}, "name the record to explain"),
    ("conform", {"time_limit": 0.0}, "--time-limit must be a number of seconds above 0, not 0"),
    ("chaos", {"release": ""}, "--release NUMBER is missing: the release whose servers are run"),
    (
        "chaos",
        {"faults": "kill,fire"},
        "there is no fault 'fire'; there are kill, stop, cut, delay, tail, behind, stall",
    ),
    ("chaos", {"writes": 0}, "--writes must be 1 or more, not 0"),
    ("reenact", {"trace": ""}, "name a trace, a row of the track record (ZK-4394), or --random N"),
    ("reenact", {"control": False}, "--without needs --control"),
    ("reenact", {"times": 0}, "--times must be 1 or more, not 0"),
    ("reenact", {"without": -1}, "--without must be 0 or more, not -1"),
    ("reenact", {"retries": -1}, "--retries must be 0 or more, not -1"),
    ("reenact", {"patience": 0.0}, "--patience must be a number of seconds above 0, not 0"),
    ("conformance", {"runs": 0}, "--random must be 1 or more, not 0"),
    ("conformance", {"release": ","}, "--random needs --release"),
    ("conformance", {"start": "after-snap"}, "--start must be established or new, not 'after-snap'"),
    ("conformance", {"retries": -1}, "--retries must be 0 or more, not -1"),
    ("zookeeper", {"time_limit": 0.0}, "--time-limit must be a number of seconds above 0, not 0"),
    ("zookeeper", {"issues": ()}, "name the rows to check on 3.9.1"),
    ("zookeeper-drift", {"tree": ""}, "--drift takes the folder of a source tree of ZooKeeper"),
    ("zookeeper-drift", {"since": "\0"}, "--drift takes the folder of a source tree of ZooKeeper"),
    ("zookeeper-finding", {"time_limit": 0.0}, "--time-limit must be a number of seconds above 0, not 0"),
]


@pytest.mark.parametrize(("kind", "values", "sentence"), REFUSED)
def test_what_cannot_be_is_no_request(kind: str, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RequestError) as raised:
        all_kinds()[kind](**FULL.get(kind, {}) | values)
    assert sentence in str(raised.value)


# --- what is refused when it is answered -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (plan.PlanRequest(servers=99), "--servers must be 2 to 13, not 99"),
        (plan.PlanRequest(latency=3), "--latency must be 0.05 to 20 ms"),
        (plan.PlanRequest(size=0), "--size must be 128 to 16384 bytes"),
        (plan.PlanRequest(outstanding=0), "--outstanding must be 1 to 1000"),
        (plan.PlanRequest(disk="ssb"), "there is no disk 'ssb'; did you mean ssd?"),
        (plan.PlanRequest(disk="none", forced_write=10**6), "--forced-write does not go with --disk none"),
        (plan.PlanRequest(forced_write=10**12), "--forced-write must be 0.05 to 50 ms"),
    ],
)
def test_an_ensemble_that_the_model_was_not_validated_for_is_refused(given: plan.PlanRequest, sentence: str) -> None:
    with pytest.raises(RequestError) as raised:
        given.answer()
    assert str(raised.value).startswith(sentence)


def test_a_mutant_that_there_is_not_is_refused() -> None:
    with pytest.raises(RequestError, match=r"^there is no mutant 'no-promize'; did you mean no-promise"):
        prove.Prove("no-promize").answer()


def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zoo.cfg").write_text("server.x=3")
    with pytest.raises(RequestError, match=r"zoo\.cfg: "):
        quorums.Quorums(str(tmp_path / "zoo.cfg")).answer()
    with pytest.raises(RequestError, match="No such file"):
        quorums.Quorums(str(tmp_path / "none")).answer()


def test_a_sweep_that_is_none_is_refused(tmp_path: Path) -> None:
    new = str(tmp_path / "new")
    for given, sentence in (
        (SweepRequest(new, ("5:1",)), "--seeds must be START:STOP with START < STOP"),
        (SweepRequest(new, ("1:5",), protocol=("nope",)), "there is no protocol 'nope'"),
    ):
        with pytest.raises(RequestError, match=sentence):
            given.answer()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(seconds=2)
def test_rows_and_releases_that_there_are_not_are_refused() -> None:
    with pytest.raises(RequestError, match=r"^there is no row ZK-9999"):
        zookeeper.ZookeeperRequest(("ZK-9999",)).answer()
    with pytest.raises(RequestError, match=r"9\.9\.9"):
        zookeeper.ZookeeperRequest(("ZK-4394",), release="9.9.9").answer()
    with pytest.raises(RequestError, match=r"^there is no run of ZK-9999 to play"):
        reenact.ReenactRequest(trace="ZK-9999").answer()
    with pytest.raises(RequestError, match=r"^there is no step 999 in ZK-4394"):
        reenact.ReenactRequest(trace="ZK-4394", control=True, without=999).answer()


def test_servers_that_cannot_be_run_give_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.java.candidates", lambda: iter(()))
    out = str(tmp_path / "out")
    for work in (
        lambda: reenact.ReenactRequest(trace="ZK-4394", output=out).answer(),
        lambda: conformance.ConformanceRequest("3.9.1", output=out).answer(),
    ):
        with pytest.raises(NoVerdict, match="real ZooKeeper servers need Java"):
            work()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(seconds=2)
def test_a_trace_is_played_as_often_as_the_request_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On servers that are none: every second time a step differs, and the run is repeated once."""
    results = cycle((["server 1 differs"], []))

    def play(folder: Path, _: Release, plan: ReenactmentPlan, patience: float) -> ReenactedRun:
        assert patience == 3.0
        folder.mkdir(parents=True)
        (folder / "events.txt").write_text("")
        return ReenactedRun(Played(len(plan.steps) - 1, next(results), [0.1] * len(plan.steps)), None)

    monkeypatch.setattr("traces.zookeeper.reenact.distributions.find_release", lambda name, *_: nowhere(name))
    monkeypatch.setattr("traces.zookeeper.reenact.reenactment.play", play)
    given = reenact.ReenactRequest(
        trace="ZK-4394", output=str(tmp_path / "out"), times=2, retries=1, patience=3.0, control=True, without=2
    )
    done = given.answer()
    said = [text.partition(", 0.")[0] for text in done.texts if text.startswith(("control", "try", "run"))]
    assert said[0].startswith("control: without step 2, ")
    assert said[1:] == [
        "try 1: server 1 differs", "run 1, 2 tries", "try 1: server 1 differs", "run 2, 2 tries",
    ]  # fmt: skip
    assert (done.agreed, done.broken, done.folder) == (2, 0, tmp_path / "out")
    assert {p.name for p in (done.folder / "run2").iterdir()} >= {"lanes.svg", "run.trace.json", "try2"}
    assert given.answer().folder == tmp_path / "out-2"


def test_a_file_that_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.json"
    path.write_text("{}")
    for work in (
        lambda: minimise.Minimise(str(path)).answer(),
        lambda: export.Export(str(path), "text").answer(),
        lambda: realise.Realise(str(path)).answer(),
    ):
        with pytest.raises(RequestError, match=r"run\.trace\.json"):
            work()
    assert [p.name for p in tmp_path.iterdir()] == ["run.trace.json"]


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    for work in (
        lambda: minimise.minimise("t.json", str(tmp_path / "none" / "t.json")),
        lambda: export.export("t.json", "text", str(tmp_path / "none" / "t.txt")),
        lambda: export_model.export_model(output=str(tmp_path / "none" / "M.tla")),
        lambda: graph.graph(output=str(tmp_path / "none" / "g.graphml")),
        lambda: bmc.bmc(trace=str(tmp_path / "none" / "t.json")),
        lambda: simulate.simulate(dump=str(tmp_path / "none" / "d")),
    ):
        with pytest.raises(RequestError, match=r"^--(output|trace|dump) .*there is no folder"):
            work()


def test_an_argument_that_is_missing_is_named() -> None:
    for kind in all_kinds().values():
        arguments = [f.name for f in fields_of(kind).values() if f.option and f.option.argument and f.default == ""]
        if arguments and is_command(kind):
            with pytest.raises(RequestError, match=r"missing|name (a|the)|a protocol is a file"):
                kind()


# --- what they depend on -----------------------------------------------------------------------------------

LOG = (
    "2026-01-01 00:00:00,000 [myid:1] - INFO  [QuorumPeer[myid=1](plain=0.0.0.0:2181):o.a.z.s.q.QuorumPeer@1] "
    "- LOOKING\n"
)
ANSWERS = {
    "minimise": "from checker.requests.minimise import *; Minimise('run.trace.json', search=5).answer()",
    "export": "from checker.requests.export import *; assert Export('run.trace.json', 'text').answer().data",
    "export-model": """
from checker.proofs.requests.export_model import *
made = ExportModel(nodes=2, output="M.tla").answer()
assert open("M.tla").read() == made.module and open("M.cfg").read() == made.configuration
""",
    "realise": """
from checker.requests.realise import *
answer = Realise("run.trace.json", attempts=1, threads=1).answer()
assert answer.trace.property_name and answer.attempts == 1
""",
    "explore": """
from checker.requests.explore import *
assert Explore(nodes=1, txns=1, budgets={"timeouts": 0, "crashes": 0, "losses": 0}).answer().exit_code == 0
""",
    "audit-logs": """
from checker.zookeeper.requests.audit_logs import *
report = AuditLogsRequest(("zk.log",)).answer()
assert report.exit_code == 0 and report.as_json()["request"] == {"kind": "audit-logs", "servers": ["zk.log"]}
""",
    "quorums": "from checker.proofs.requests.quorums import *; assert Quorums('zoo.cfg').answer().passed",
    "plan": "from checker.zookeeper.requests.plan import *; assert PlanRequest(outstanding=2).answer().plan.throughput",
}


@pytest.mark.slow(seconds=4)
def test_answering_needs_no_command_line_and_prints_nothing(tmp_path: Path) -> None:
    from tests.replay.wandering import wandering
    from traces import write_trace

    write_trace(wandering("db19"), tmp_path / "run.trace.json")
    (tmp_path / "zk.log").write_text(LOG)
    (tmp_path / "zoo.cfg").write_text("server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\n")
    checked = """
assert "click" not in sys.modules
assert not [name for name in sys.modules if name.startswith("checker.commands")]
"""
    code = "import sys\n" + "".join(answer + checked for answer in ANSWERS.values())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
