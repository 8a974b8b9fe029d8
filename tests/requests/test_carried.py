"""Reports and traces carry the request that they answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from checker.cli import main
from checker.errors import RequestError
from checker.proofs.requests.bmc import Bmc
from checker.proofs.requests.quorums import Quorums
from checker.requests import report as reports
from checker.requests.base.carried import verified_trace
from checker.requests.base.kinds import from_json
from checker.requests.base.model import ModelRequest
from checker.requests.explore import Explore
from checker.requests.live import LiveRequest
from checker.requests.minimise import Minimise
from checker.requests.realise import Realise
from checker.requests.replay import Replay
from checker.requests.search import SearchRequest
from checker.requests.simulate import Simulate
from checker.zookeeper.requests.plan import PlanRequest
from traces import TraceError, read_trace, verify

TINY = ModelRequest(nodes=2, txns=1, variant="small-quorum", budgets={"timeouts": 0, "crashes": 0, "losses": 0})
WIDE = replace(TINY, nodes=5, timeouts=None, crashes=None, losses=None)
LOSSY = ModelRequest(nodes=2, txns=1, network="lossy", budgets={"timeouts": 1, "crashes": 0, "losses": 0, "drops": 1})
ANSWERS: dict[str, Any] = {
    "explore": Explore(**vars(TINY), properties=("durability",), trace="run.json"),
    "live": LiveRequest(**vars(LOSSY), progress_properties=("joins",), trace="run.json"),
    "bmc": Bmc("example:token_ring", "hasty", nodes=3, depth=4, properties=("mutual-exclusion",), trace="run.json"),
    "search": SearchRequest(**vars(TINY), properties=("durability",), seed=1, time_limit=20.0, trace="run.json"),
}


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("kind", ANSWERS)
def test_a_report_and_its_trace_carry_the_request(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = ANSWERS[kind]
    report = json.loads(json.dumps(given.answer().as_json()))
    assert from_json(report["request"]) == given
    trace = read_trace("run.json")
    verify(trace)
    assert from_json(trace.request) == given


@pytest.mark.slow(seconds=5)
def test_what_a_command_writes_as_json_carries_the_request(
    violated: tuple[dict[str, Any], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace, config = str(violated[1]), "server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\n"
    Path("zoo.cfg").write_text(config)
    for words, wanted in (
        (("plan", "--outstanding", "2"), PlanRequest(outstanding=2)),
        (("quorums", "zoo.cfg"), Quorums("zoo.cfg")),
        (("replay", trace), Replay(trace)),
        (("realise", trace, "--attempts", "1", "--threads", "1"), Realise(trace, 1, threads=1)),
        (("simulate", "--seed", "14", "--rounds", "300", "--check", "--trace", "s.json"),
         Simulate(seed=14, rounds=300, check=True, trace="s.json")),
    ):  # fmt: skip
        report = json.loads(CliRunner().invoke(main, [*words, "--json"]).stdout)
        assert from_json(report["request"]) == wanted
    assert from_json(read_trace("s.json").request) == Simulate(seed=14, rounds=300, check=True, trace="s.json")


@pytest.fixture(scope="module")
def violated(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The report of an exploration as JSON, and the trace of its violation."""
    path = tmp_path_factory.mktemp("violated") / "run.trace.json"
    report = Explore(**vars(TINY), properties=("durability",), trace=str(path)).answer()
    return json.loads(json.dumps(report.as_json())), path


@pytest.mark.slow(seconds=2)
def test_a_trace_of_before_reads_as_it_did(violated: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    content = json.loads(violated[1].read_text())
    del content["request"]
    old = tmp_path / "old.trace.json"
    old.write_text(json.dumps(content))
    trace = read_trace(old)
    verify(trace)
    assert trace.request is None
    assert trace == read_trace(violated[1])
    assert trace.as_dict() == content


@pytest.mark.slow(seconds=2)
def test_what_is_no_object_is_no_request(violated: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    content = json.loads(violated[1].read_text())
    for wrong in (None, 3, "explore", [violated[0]]):
        path = tmp_path / "wrong.trace.json"
        path.write_text(json.dumps(content | {"request": wrong}))
        with pytest.raises(TraceError, match="request must be an object"):
            read_trace(path)


@pytest.mark.slow(seconds=4)
def test_a_shortened_trace_carries_what_shortened_it(violated: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    given = Minimise(str(violated[1]), str(tmp_path / "short.json"), 5.0)
    given.answer()
    assert from_json(read_trace(tmp_path / "short.json").request) == given


@pytest.mark.slow(seconds=3)
def test_a_report_is_explored_again_only_if_its_request_is_its_own(violated: tuple[dict[str, Any], Path]) -> None:
    report = violated[0]
    assert reports.differences(report, reports.again(report)) == []
    given = Explore.from_json(report["request"])
    for other, sentence in (
        (replace(given, nodes=3), "for another configuration"),
        (replace(given, properties=("agreement",)), "for other properties"),
        (LiveRequest(**vars(TINY)), "of kind 'live', not explore"),
    ):
        with pytest.raises(RequestError, match=sentence):
            reports.again(report | {"request": other.as_json()})
    with pytest.raises(RequestError, match="a request of kind explore is a JSON object, not None"):
        reports.again(report | {"request": None})


@pytest.mark.slow(seconds=3)
def test_a_trace_is_read_only_if_its_request_is_its_own(violated: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    content = json.loads(violated[1].read_text())
    given = Explore.from_json(content["request"])
    path = tmp_path / "other.trace.json"

    def read(request: dict[str, Any]) -> Any:
        path.write_text(json.dumps(content | {"request": request}))
        return verified_trace(path)

    assert from_json(read(given.as_json()).request) == given
    assert read(replace(given, properties=()).as_json())
    assert read(SearchRequest(**vars(WIDE)).as_json())
    assert read(Minimise("run.trace.json").as_json())
    for other, sentence in (
        (replace(given, nodes=3).as_json(), "for another configuration, with another nodes"),
        (replace(given, variant="").as_json(), "for another configuration, with another variant"),
        (replace(given, max_epoch=9).as_json(), "for another configuration, with another max_epoch"),
        (replace(given, channel=9).as_json(), "for another configuration, with another channel"),
        (replace(given, **vars(LOSSY)).as_json(), "for another configuration"),
        (replace(given, properties=("agreement",)).as_json(), "for other properties than durability"),
        (Simulate(protocol="zab", nodes=2).as_json(), "for another configuration, with another variant"),
        (SearchRequest(**vars(replace(TINY, nodes=1))).as_json(), "with another nodes"),
        (PlanRequest().as_json(), "not one that makes traces"),
        ({}, "not one that makes traces"),
        ({"kind": "explore"}, "for another configuration"),
        ({"kind": "explore", "nodes": "two"}, "its request is invalid"),
        ({"kind": "explore", "protocol": "none-such"}, "its request is invalid"),
        (given.as_json() | {"properties": "durability"}, "its request is invalid"),
        (given.as_json() | {"seed": 3}, "its request is invalid"),
        ({"kind": ["explore"]}, "not one that makes traces"),
        (Bmc(**vars(TINY), depth=9).as_json() | {"depth": "deep"}, "its request is invalid"),
        (
            SearchRequest(**vars(replace(TINY, nodes=5, timeouts=None, crashes=None, losses=None))).as_json()
            | {"seeds": 1},
            "request is invalid",
        ),
        (Minimise("run.trace.json").as_json() | {"wish": "anything"}, "its request is invalid"),
        ({"kind": "minimise"}, "its request is invalid: name the trace to minimise"),
    ):
        with pytest.raises(RequestError, match=sentence):
            read(other)
        with pytest.raises(RequestError, match=sentence):
            Replay(str(path)).answer()
