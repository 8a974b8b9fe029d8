"""--quorums: what each command takes and refuses, and that a system is never lost between them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checker.cli import main
from checker.errors import RequestError
from checker.explore.compiled import Compiled
from checker.proofs.requests.induct import Induct
from checker.requests.base.kinds import all_kinds
from checker.requests.base.model import ModelRequest
from checker.requests.explore import Explore
from traces import build_trace, read_trace, write_trace
from traces.replay.replay import replay
from traces.zookeeper.reenact.plan import Cannot, plan_for
from zabspec.authoring.declaration import ConfigError
from zabspec.model import Configuration, Model
from zabspec.simulator.run import Run

HERE = Path(__file__).parent
SMALL = ["--txns", "1", "--timeouts", "0", "--crashes", "0", "--losses", "0"]
DISJOINT = "weights 3,3,-3"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def zoo(folder: Path, count: int, *more: str) -> str:
    path = folder / "zoo.cfg"
    path.write_text("\n".join([*(f"server.{k}=h{k}:2888:3888" for k in range(1, count + 1)), *more]))
    return str(path)


def explored(*words: str) -> dict[str, Any]:
    done = run(*words, *SMALL, "--no-trace", "--json")
    assert done.exit_code in (0, 1), done.output
    report: dict[str, Any] = json.loads(done.stdout)
    return report


# --- what is explored ------------------------------------------------------------------------------


def test_majority_as_weights_has_equal_counts(tmp_path: Path) -> None:
    plain, weights = explored("--nodes", "3"), explored("--quorums", zoo(tmp_path, 3, "group.1=1:2:3"))
    assert weights["configuration"]["quorums"] == "weights 1,1,1"
    assert weights["sentence"].endswith("network fifo, quorums weights 1,1,1")
    for what in ("states", "events", "steps"):
        assert weights[what] == plain[what]


@pytest.mark.slow(seconds=2)
def test_a_file_gives_the_number_of_processes(tmp_path: Path) -> None:
    config = zoo(tmp_path, 5, "group.1=1:2", "group.2=3:4", "group.3=5")
    done = run("--quorums", config, *SMALL, "--no-trace", "--json", "--depth", "4")
    report = json.loads(done.stdout)
    c = report["configuration"]
    assert (c["nodes"], c["quorums"]) == (5, "groups {1,2},{3,4},{5}")
    assert report["request"]["quorums"] == c["quorums"]


@pytest.mark.slow(seconds=2)
def test_disjoint_quorums_make_two_leaders_that_replay(tmp_path: Path) -> None:
    config = zoo(tmp_path, 3, "group.1=1:2:3", "weight.1=3", "weight.2=3", "weight.3=-3")
    trace = tmp_path / "two.trace.json"
    done = run("--quorums", config, *SMALL, "--trace", str(trace))
    assert done.exit_code == 1
    assert "VIOLATED: one-leader-an-epoch" in done.output
    said = " ".join(done.output.split())
    assert "warning: the quorums {p0} and {p1} do not intersect; DSN'11 II.1 requires that any two do" in said
    assert "replayed in the simulator, step by step equal" in said
    again = run("replay", str(trace))
    assert again.exit_code == 0, again.output
    assert "one-leader-an-epoch is violated" in again.output
    assert replay(read_trace(trace)).failure is None


@pytest.mark.slow(seconds=4)
def test_simulated_runs_are_judged_under_the_system() -> None:
    words = ["simulate", "--protocol", "zab", "--seed", "25", "--rounds", "2000", "--proposals", "1", "--delay", "1:40"]
    two = run(*words, "--quorums", DISJOINT, "--check", "--json")
    assert two.exit_code == 1
    assert json.loads(two.stdout)["request"]["quorums"] == DISJOINT
    assert run(*words, "--quorums", "weights 1,1,1", "--check").exit_code == 0
    plain = json.loads(run(*words, "--check", "--json").stdout)
    ones = json.loads(run(*words, "--quorums", "weights 1,1,1", "--check", "--json").stdout)
    assert ones["sha256"] == plain["sha256"]
    assert ones["sha256"] != json.loads(two.stdout)["sha256"]


# --- identity --------------------------------------------------------------------------------------


@pytest.mark.slow(seconds=4)
def test_systems_do_not_share_machine_code() -> None:
    keys = set()
    for quorums in ("", "weights 1,1,1", "weights 2,1,1", "weights 1,2,1"):
        code, _ = Compiled.of(Model(Configuration(nodes=3, txns=1, quorums=quorums)), (), True)
        keys.add(code.identity)
    assert len(keys) == 4


@pytest.mark.slow(seconds=3)
def test_a_checkpoint_of_another_system_is_refused(tmp_path: Path) -> None:
    folder = str(tmp_path / "kept")
    first = run("--quorums", "weights 2,1,1", *SMALL, "--no-trace", "--checkpoint", folder, "--depth", "5")
    assert first.exit_code in (0, 3), first.output
    for other in ("weights 1,2,1", "weights 1,1,1", "majority"):
        again = run("--quorums", other, *SMALL, "--no-trace", "--checkpoint", folder, "--resume", "--depth", "6")
        assert again.exit_code == 2, again.output
        assert "quorums" in again.output
    same = run("--quorums", "weights 2,1,1", *SMALL, "--no-trace", "--checkpoint", folder, "--resume", "--depth", "6")
    assert same.exit_code in (0, 3), same.output


@pytest.mark.slow(seconds=3)
def test_a_trace_under_another_system_is_no_sound_trace(tmp_path: Path) -> None:
    path = tmp_path / "two.trace.json"
    assert run("--quorums", DISJOINT, *SMALL, "--max-epoch", "3", "--channel", "6", "--trace", str(path)).exit_code == 1
    content = json.loads(path.read_text())
    assert content["configuration"]["quorums"] == DISJOINT
    for other in ("", "weights 1,1,1", "weights 2,1,1"):
        content["configuration"]["quorums"] = other
        content.pop("request", None)
        path.write_text(json.dumps(content))
        done = run("replay", str(path))
        assert done.exit_code == 2, done.output
        assert "not a sound trace" in done.output or "does not replay" in done.output


def test_a_trace_whose_request_names_another_system_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.trace.json"
    assert run("--quorums", DISJOINT, *SMALL, "--trace", str(path)).exit_code == 1
    content = json.loads(path.read_text())
    content["request"]["quorums"] = "weights 1,1,1"
    path.write_text(json.dumps(content))
    done = run("replay", str(path))
    assert done.exit_code == 2, done.output
    assert "its request is for another configuration, with another quorums" in done.output


def test_a_request_holds_the_text_and_not_the_file(tmp_path: Path) -> None:
    config = zoo(tmp_path, 3, "group.1=1:2:3", "weight.1=2")
    report = explored("--quorums", config)
    os.remove(config)
    request = Explore.from_json(report["request"])
    assert request.model.quorums == "weights 2,1,1"
    assert request.as_json() == report["request"]
    assert request.model.configuration().as_dict() == report["configuration"]


def test_a_report_is_run_again_under_its_system(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(explored("--quorums", "weights 2,1,1")))
    done = run("report", str(path), "--rerun", "--html", str(tmp_path / "run.html"))
    assert done.exit_code == 0, done.output
    content = json.loads(path.read_text())
    content["configuration"]["quorums"] = "weights 1,1,1"
    path.write_text(json.dumps(content))
    assert run("report", str(path), "--rerun", "--html", str(tmp_path / "run.html")).exit_code == 2


def test_no_event_table_is_written_that_would_be_judged_otherwise(tmp_path: Path) -> None:
    words = ["simulate", "--protocol", "zab", "--quorums", "weights 2,1,1", "--rounds", "50"]
    done = run(*words, "--table", str(tmp_path / "run.parquet"))
    assert done.exit_code == 2
    assert "an event table is checked with majorities" in done.output
    assert not (tmp_path / "run.parquet").exists()


# --- what is refused -------------------------------------------------------------------------------


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, says in (("missing", "No such file"), ("pipe", "pipe"), ("binary", "not text"), (".", "directory")):
        done = run("--quorums", str(tmp_path / name), *SMALL, "--no-trace")
        assert done.exit_code == 2, name
        assert "--quorums: " in done.output
        assert says in done.output, done.output


@pytest.mark.slow(seconds=4)
def test_who_counts_by_hand_is_refused(tmp_path: Path) -> None:
    source = (HERE / "ballots.py").read_text()
    for old, new, says in (
        ("return is_quorum(s, members)", "return len(members) >= s.MAJORITY", "uses the size of a set of processes"),
        ("return is_quorum(s, members)", "return is_quorum(s, members) or s.MAJORITY == 9", "reads s.MAJORITY"),
        (
            "return is_quorum(s, members)",
            "return is_quorum(s, members) or s.NODES // 2 == 9",
            "calculates with s.NODES",
        ),
        ("if enough(s, s.votes[p]):", "if len(s.votes[p]) >= 2:", "uses the size of a set of processes"),
        (
            "if enough(s, s.votes[p]):",
            "n = 0\n        for q in range(s.NODES):\n            if q in s.votes[p]:\n                n = n + 1\n"
            "        if n >= 2:",
            "counts in a loop over processes",
        ),
        (
            "if enough(s, s.votes[p]):",
            "n = 0\n        for q in s.votes[p]:\n            n += 1\n        if n >= 2:",
            "counts in a loop over processes",
        ),
    ):
        assert old in source
        path = tmp_path / "by_hand.py"
        path.write_text(source.replace(old, new))
        for words in (["--protocol"], ["simulate", "--protocol"]):
            done = run(*words, str(path), "--quorums", "weights 2,1,1")
            assert done.exit_code == 2, done.output
            assert says in done.output
        assert run("--protocol", str(path), "--no-trace").exit_code in (0, 1)


def test_who_counts_by_hand_in_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(
        "from __future__ import annotations\n\nfrom zabcheck.language import Members, State\n\n\n"
        "def many(s: State, members: Members) -> bool:\n    return len(members) >= 2\n"
    )
    source = (HERE / "ballots.py").read_text().replace("return is_quorum(s, members)", "return many(s, members)")
    path = tmp_path / "elsewhere.py"
    path.write_text(
        source.replace("from zabcheck.language import", "from counting import many\nfrom zabcheck.language import")
    )
    assert run("--protocol", str(path), "--no-trace").exit_code == 0
    done = run("--protocol", str(path), "--quorums", "weights 2,1,1")
    assert done.exit_code == 2
    assert "counting.py:7: many uses the size of a set of processes" in done.output


@pytest.mark.slow(seconds=2)
def test_a_variant_that_counts_for_itself_is_refused() -> None:
    done = run("--variant", "small-quorum", "--quorums", "weights 2,1,1")
    assert done.exit_code == 2
    assert "half_quorum" in done.output
    own = run("--protocol", str(HERE / "ballots.py"), "--variant", "half", "--quorums", "weights 2,1,1")
    assert own.exit_code == 2
    assert "half calculates with s.NODES" in own.output
    others = run("--variant", "strict-rejoin", "--quorums", "weights 2,1,1", *SMALL, "--no-trace")
    assert others.exit_code == 0, others.output


def test_induct_counts_majorities_alone() -> None:
    with pytest.raises(RequestError, match="--quorums does not go with induct"):
        Induct(quorums="weights 2,1,1")
    done = run("induct", "--quorums", "weights 2,1,1")
    assert done.exit_code == 2
    assert "--quorums" in done.output


def test_no_trace_is_reenacted_on_servers_that_count_majorities(tmp_path: Path) -> None:
    path = tmp_path / "run.trace.json"
    model = Model(Configuration("zookeeper", start="established", quorums="weights 1,1,1"))
    trace = build_trace(model, None, [])
    with pytest.raises(Cannot, match=r"count majorities, and the trace has weights 1,1,1"):
        plan_for(trace, "")
    write_trace(trace, path)
    assert read_trace(path).configuration.quorums == "weights 1,1,1"
    plan_for(build_trace(Model(Configuration("zookeeper", start="established")), None, []), "")


@pytest.mark.parametrize("weights", ["3,3,-3", "1,1,1"])
def test_a_graph_says_that_quorums_do_not_intersect(weights: str, tmp_path: Path) -> None:
    given = (f"weight.{k}={w}" for k, w in enumerate(weights.split(","), 1))
    config = zoo(tmp_path, 3, "group.1=1:2:3", *given)
    few = ("graph", "--quorums", config, *SMALL, "--depth", "3", "--property", "integrity")
    said = " ".join(run(*few).output.split())
    told = json.loads(run(*few, "--json").stdout)["warnings"]
    assert ("warning: the quorums {p0} and {p1} do not intersect" in said) == bool(told) == (weights == "3,3,-3")


def test_a_check_names_its_file_from_its_own_folder(tmp_path: Path) -> None:
    zoo(tmp_path, 3, "group.1=1:2:3", "weight.1=2")
    size = 'quorums = "zoo.cfg"\ntxns = 1\ntimeouts = 0\ncrashes = 0\nlosses = 0\n'
    size += 'properties = ["integrity"]\n'
    expects = '[check.expect]\nverdict = "holds"\nstates = 1430\nraw = 2809\nsource = "counted before"\n'
    matrix = tmp_path / "zabcheck.toml"
    matrix.write_text(f'[[check]]\nname = "weighted"\nclaim = "it holds"\n{size}{expects}')
    done = run("check", str(matrix))
    assert done.exit_code == 0, done.output
    (tmp_path / "zoo.cfg").unlink()
    assert run("check", str(matrix)).exit_code == 2


TAKE = {
    "explore", "witness", "live", "search", "mutate", "bmc", "simulate", "sweep", "export-model", "graph", "prove",
    "refine", "walk",
}  # fmt: skip


def test_every_kind_of_request_takes_a_system_or_has_no_place_for_it() -> None:
    for name, kind in all_kinds().items():
        fields = set(kind.__dataclass_fields__) - set(kind.excluded)
        has = "quorums" in fields or "model" in fields
        assert has == (name in TAKE), name


def test_a_text_is_checked_where_a_request_is_made() -> None:
    with pytest.raises(RequestError, match=r"--quorums: .*\(zoo\.cfg\)"):
        ModelRequest(quorums="zoo.cfg")
    with pytest.raises(RequestError, match="--quorums: "):
        ModelRequest(quorums="weights 1,1,")
    with pytest.raises(ConfigError, match="--quorums: "):
        Configuration(quorums="weights 1,1,")
    with pytest.raises(ConfigError, match="system of 5 servers"):
        Run(1, quorums="weights 2,1,1,1,0")
    c = Configuration(quorums="weights 2,1,1")
    with pytest.raises(ConfigError, match="--nodes is 4"):
        replace(c, nodes=4)
