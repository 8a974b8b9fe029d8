"""What Spark costs: the break-even by which an engine is chosen, forecasts, and these held against what came."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("numpy")
if importlib.util.find_spec("pyspark") is None:
    pytest.skip("no pyspark here", allow_module_level=True)
pytest.importorskip("pyarrow")
pytest.importorskip("jsonschema")

import jsonschema

from checker.distributed import cluster as clusters
from checker.distributed.account import Account
from checker.distributed.checkpoint import Level
from checker.distributed.cluster import Cluster
from checker.distributed.costs import LARGE, Costs, NotWorth, held, recorded
from checker.distributed.forecasting import LONG, POWERS, Forecasting
from checker.distributed.metering import of_jobs
from checker.distributed.usage import Usage
from checker.errors import RequestError
from checker.explore import breadth_first, narrowing
from checker.explore.result import Exploration
from checker.report.report import Report
from checker.requests import running
from checker.requests.explore import ExploreRequest, answer
from checker.requests.model import ModelRequest
from checker.requests.running import EngineTask
from checker.requests.watch import Watch

COSTS = replace(
    recorded(), cpu=2e-6, local_cpu=1e-6, counted=1e-6, start_seconds=4.0, level_seconds=0.5, jobs=12, level_cpu=0.25,
    level_counted=0.0, first_cpu=0.0, task_cpu=0.0, parts=4, sent=2.0, successors=3.0, message=8.0, largest=0.1,
)  # fmt: skip
MODEL = ModelRequest("zab", nodes=2, txns=1, budgets={"timeouts": 1, "crashes": 0, "losses": 0})
CLUSTER = "spark://127.0.0.1:7077"


@pytest.mark.parametrize(
    ("cores", "states", "why"),
    [
        (4, None, "the cluster has 4 cores, and below 5 cores this machine, which has 2, is faster"),
        (5, None, ""),
        (
            8,
            39_999_999,
            "at most 39,999,999 states, and 8 cores of a cluster are only worth starting from 40,000,000 on",
        ),
        (8, 40_000_000, ""),
    ],
)
def test_a_cluster_is_worth_its_price_from_the_break_even(cores: int, states: int | None, why: str) -> None:
    """Twice the CPU for a state: ten seconds of start and levels are made up by 0.25 microseconds a state."""
    found = COSTS.why_not_worth(cores, 2, states)
    assert found.startswith(why)
    assert bool(found) == bool(why)
    assert "from 40,000,000 states on; below 5 cores" in COSTS.why_worth(8, 2)


def test_a_level_is_a_job_from_where_that_is_sooner() -> None:
    """A job of two cores takes half a second to begin, and half as long for a state."""
    assert COSTS.level_worth(2) == COSTS.level_worth(1) == 1.0
    assert 0.5 < COSTS.level_worth(1000) < 0.501


def test_a_forecast_is_so_much_for_each_state_and_level() -> None:
    small, large = (COSTS.forecast(n, 4, 4) for n in (1_000_000, 3_000_000))
    assert (small.cpu, large.cpu) == (2.0 + 3.0, 6.0 + 3.0)
    assert (small.seconds, large.seconds) == (0.5 + 6.0, 1.5 + 6.0)
    assert (small.shuffle, large.shuffle) == (16_000_000, 48_000_000)
    assert COSTS.forecast(1_000_000, 4, 64).shuffle == 24_000_000  # all successors may leave their task
    assert COSTS.forecast(1_000_000, 4, 4, jobs=2).cpu == 2.5
    assert large.disk > 3 * small.disk - 3


def test_what_came_is_held_against_the_forecast() -> None:
    usage = Usage(1, 0, 12, 1_000_000, 2_000_000, 13.0, 0.75, 0.5, 16_000_000, 0, 0, 10)
    forecast = COSTS.forecast(1_000_000, 4, 4)
    found = {each.quantity: each for each in held(forecast, usage, 2 * forecast.memory)}
    percents = {name: round(each.percent, 6) for name, each in found.items()}
    assert percents.pop("written") < -99
    assert percents == {"seconds": 100.0, "cpu": 25.0, "shuffle": 0.0, "memory at most": 100.0}
    assert found["cpu"].text == "cpu 1 CPU-s, came +25 %"
    none = Account(Usage(), 1, (1,), 1, 2, 64)  # no level was a job: there is nothing to compare
    assert none.as_json()["forecast"]["held"] == none.rows() == []
    unmetered = held(forecast, replace(usage, unmetered=1), forecast.memory)
    assert {each.quantity for each in unmetered} == {"seconds", "written", "memory at most"}


def result(states: int) -> Exploration:
    return Exploration((), engine="spark", levels=[states])


def test_a_forecast_is_said_once_of_a_long_exploration() -> None:
    said: list[str] = []
    for states, counts, numbers in (
        (None, [LONG - 1], []),
        (None, [LONG - 1, LONG, 2 * LONG], [10**power for power in POWERS]),
        (LARGE, [], [LARGE]),
        (LARGE - 1, [], []),
    ):
        forecasting = Forecasting(COSTS, 4, 4, states, said.append)
        forecasting.begin()
        for n in counts:
            forecasting(result(n), 0, 1)
        assert [each.states for each in forecasting.said] == numbers
    assert len(said) == 2
    assert all("measured on zab" in sentence and "other models cost" in sentence for sentence in said)
    assert ["the total is unknown" in sentence for sentence in said] == [True, False]


@pytest.mark.parametrize(
    ("asked", "wide"),
    [
        ({"master": CLUSTER}, True),
        ({}, False),
        ({"max_states": 190_000_000, "master": CLUSTER}, False),
        ({"max_states": 200_000_000}, True),
        ({"fingerprint": 64, "max_states": 10**12}, False),
        ({"resume": True}, None),
    ],
)
def test_bits_follow_from_the_number_of_states(asked: dict[str, Any], wide: bool | None) -> None:
    """64 are enough up to 192 million, where a state is missed with a probability of one in a thousand."""
    request = ExploreRequest(MODEL, engine="spark", checkpoint="levels", **asked)
    assert running.wide_for(request, request.limits) is wide


def test_too_short_fingerprints_are_said_once() -> None:
    notes: list[str] = []
    forecasting = Forecasting(COSTS, 4, 4, 10, notes.append)
    for states in (190_000_000, 193_000_000, 200_000_000):
        forecasting(result(states), 0, 1)
    assert [note for note in notes if "missed" in note] == [
        "the probability that a state was missed is at most 1.0e-03 so far; with --fingerprint 128, restarted in "
        "another folder, it is 5.5e-23"
    ]


def test_what_spark_cannot_be_asked_about_is_not_nothing() -> None:
    assert of_jobs(SimpleNamespace(sparkContext=object()), "x") == Usage(unmetered=1)  # type: ignore[arg-type]
    whole, part = Usage(jobs=1, tasks=3, shuffle=5), Usage(jobs=1, unmetered=1)
    assert (whole + whole).as_json()["shuffle"] == 10
    assert (whole + part).as_json()["shuffle"] is None
    assert Level.from_json({**vars(Level(0, [], [1], [1], [])), "usage": (whole + part).__dict__}).usage == whole + part


def test_cores_are_counted_when_executors_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of a standalone cluster is there before them, and would be taken for one of two cores."""

    class Context:
        master, defaultParallelism = CLUSTER, 2

    class Session:
        sparkContext = Context()

    came: list[int | None] = [0, 0, 16, 16, 48]
    monkeypatch.setattr(clusters, "registered", lambda context: came.pop(0) if len(came) > 1 else came[0])
    monkeypatch.setattr(clusters, "LOOK", 0.0)
    monkeypatch.setattr(clusters, "SETTLED", 0.01)
    assert Cluster(Session()).cores() == 48  # type: ignore[arg-type]
    came[:] = [None]
    assert Cluster(Session()).cores() == 2  # type: ignore[arg-type]


# --- the engine is left open -----------------------------------------------------------------------


class Noting(Watch):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


def explored(watch: Watch | None = None, **asked: Any) -> Report:
    return answer(ExploreRequest(MODEL, engine="auto", properties=("agreement",), trace=None, **asked), watch)


def test_without_a_cluster_this_machine_explores() -> None:
    found = explored(master="local[2]").as_json()
    assert found["engine"]["name"] == "compiled"
    assert found["engine"]["chosen"].startswith("this machine: local[2] is not a cluster, and below ")
    assert recorded().alone(breadth_first.available_cores()) in found["engine"]["chosen"]
    small = explored(master=CLUSTER, checkpoint="levels").as_json()  # nobody answers there
    here = "this machine: the exploration ended within 500,000 states, too few to start a cluster"
    assert small["engine"]["chosen"] == here
    assert small["states"] == found["states"]
    named = answer(ExploreRequest(MODEL, properties=("agreement",), trace=None)).as_json()
    assert "chosen" not in named["engine"]
    assert named["states"] == found["states"]


@pytest.mark.parametrize("worth", [False, True])
def test_a_large_model_goes_to_a_cluster_that_is_worth_it(monkeypatch: pytest.MonkeyPatch, worth: bool) -> None:
    monkeypatch.setattr(narrowing, "SMALL", 100)
    asked: list[EngineTask] = []
    there = Exploration((), engine="spark", levels=[1], account=Account(Usage(), 0, (1,), 99, 4, 128))

    def on_spark(task: EngineTask, reduces: bool) -> tuple[Exploration, str]:
        asked.append(task)
        if not worth:
            raise NotWorth("the cluster is small")
        return there, ""

    monkeypatch.setattr(running, "on_spark", on_spark)
    watch = Noting()
    found = explored(watch, master=CLUSTER, max_states=None if worth else 200)
    cores = breadth_first.available_cores()
    assert [(task.request.engine, task.rather_than) for task in asked] == [("spark", cores)]
    r = found.exploration
    assert r.engine == ("spark" if worth else "compiled")
    assert recorded(128).why_worth(99, cores) != recorded().why_worth(99, cores)
    assert r.chosen == (recorded(128).why_worth(99, cores) if worth else "this machine: the cluster is small")
    assert watch.notes == ([] if worth else [r.chosen])
    if worth:
        explored(master=CLUSTER, checkpoint="hdfs://name/zab")  # which this machine cannot write to
        assert asked[-1].rather_than is None


@pytest.mark.parametrize("name", ["threads", "memory_limit", "fingerprint", "resume"])
def test_what_one_engine_alone_has_needs_its_name(name: str) -> None:
    values = {"threads": 2, "memory_limit": 1 << 30, "fingerprint": 128, "resume": True}
    with pytest.raises(RequestError, match="does not go with --engine auto"):
        ExploreRequest(MODEL, engine="auto", checkpoint="levels", **{name: values[name]})  # type: ignore[arg-type]


def test_a_report_has_what_was_used_and_what_was_forecast() -> None:
    """As text and as JSON; figures that Spark could not give are null, and not nothing."""
    report = explored(master="local[2]")
    schema = json.loads((files("checker") / "report/schema/report.schema.json").read_text())
    for unmetered, said in ((0, "shuffle 16.0 bytes a state"), (1, "not known")):
        usage = Usage(1, unmetered, 12, 1_000_000, 2_000_000, 13.0, 0.75, 0.5, 16_000_000, 0, 0, 374_000_000)
        account = Account(usage, 300_000_000, (1, 1_000_000), 4, 4, 64, (COSTS.forecast(LARGE, 4, 4),))
        told = replace(report, exploration=replace(report.exploration, engine="spark", account=account))
        document = told.as_json()
        jsonschema.validate(document, schema)
        here = report.as_json()
        assert document.keys() == here.keys()
        assert document["engine"].keys() - here["engine"].keys() == {"spark"}
        assert here["cost"]["bytes_per_state"]
        assert document["cost"]["bytes_per_state"] is None  # the largest process has but a part of the states
        assert (document["engine"]["spark"]["usage"]["shuffle"] is None) == bool(unmetered)
        rows = dict(told.figures())
        assert said in rows["measured by Spark"]
        assert "bytes" not in rows["forecast"]
        assert "written" in rows["forecast"]


def test_costs_are_recorded_for_both_kinds_of_fingerprints() -> None:
    one, two = recorded(64), recorded(128)
    assert isinstance(one, Costs)
    assert (one.bits, two.bits) == (64, 128)
    assert 1.5 * one.message < two.message < 3 * one.message
    assert one.question == two.question
