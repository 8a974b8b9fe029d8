"""Spark Connect, as far as it needs no server."""

from __future__ import annotations

import json
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from checker.errors import RequestError
from checker.requests.explore import Explore
from checker.requests.exploring.running import EngineTask
from checker.tables.engine import on_spark
from checker.tables.requests.judge import JudgeRequest
from traces.tables.spark import NoSpark, SparkFailed
from traces.tables.spark import guest as of_guests
from traces.tables.spark.connect import server_of, with_settings
from traces.tables.spark.session import check_reachable
from zabspec.files import without_secrets


def test_where_a_server_is() -> None:
    assert server_of("sc://here:7/;token=a:b") == ("here", 7)
    assert server_of("sc://here") == ("here", 15002)
    assert server_of("sc://[::1]/;use_ssl=true") == ("[::1]", 15002)
    assert server_of("sc://") is None
    assert server_of("sc://here:port") is None


def test_no_word_has_the_token_of_a_server() -> None:
    master = "sc://here:7/;token=SECRET;user_id=me"
    assert without_secrets(f"{master} is not there") == "sc://here:7 is not there"
    assert "SECRET" not in json.dumps(JudgeRequest(table="t", master=master).as_json())
    with pytest.raises(NoSpark) as caught:
        check_reachable("sc://127.0.0.1:1/;token=SECRET")
    assert "sc://127.0.0.1:1: no answer" in str(caught.value)


def test_an_exploration_says_that_it_needs_rdds() -> None:
    request = Explore(engine="spark", master="sc://here")
    task: Any = SimpleNamespace(request=request, limits=SimpleNamespace(spent=0.0), spent=0.0)
    with pytest.raises(RequestError, match="an exploration needs RDDs"):
        on_spark(replaceable(task), False)


def replaceable(task: Any) -> EngineTask:
    """A task with limits that can be copied."""
    from checker.explore.result import Limits

    task.limits = Limits()
    made: EngineTask = task
    return made


class Conf:
    """The settings of a session, of which `fixed` cannot be set."""

    def __init__(self) -> None:
        self.values = {"a": "1"}

    def isModifiable(self, name: str) -> bool:
        return name != "fixed"

    def get(self, name: str, otherwise: str | None = None) -> str | None:
        return self.values.get(name, otherwise)

    def set(self, name: str, value: str) -> None:
        self.values[name] = value

    def unset(self, name: str) -> None:
        del self.values[name]


def test_settings_of_a_session_are_put_back() -> None:
    from pyspark.errors import PySparkRuntimeError

    spark: Any = SimpleNamespace(conf=Conf())
    with with_settings(spark, {"a": "2", "b": "3", "fixed": "4"}):
        assert spark.conf.values == {"a": "2", "b": "3"}
    assert spark.conf.values == {"a": "1"}
    with pytest.raises(SparkFailed, match="no such job"), with_settings(spark, {"b": "3"}):
        raise PySparkRuntimeError("no such job")
    assert spark.conf.values == {"a": "1"}


def test_a_session_gets_each_package_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_guests, "SENT", set())
    monkeypatch.setattr(of_guests, "PACKAGES", ("zabcheck",))
    monkeypatch.setattr(of_guests, "is_connect", lambda spark: True)
    sent: list[str] = []
    spark: Any = SimpleNamespace(session_id="s", addArtifacts=lambda path, archive: sent.append(path))
    of_guests.send_code(spark)
    of_guests.send_code(spark)
    assert [path.rpartition("#")[2] for path in sent] == ["zabcheck", f"zabcheck-{version('zabcheck')}.dist-info"]


@pytest.mark.parametrize(("name", "found"), [("pyspark", "3.5.9"), ("pyspark", "5.0.0"), ("pyspark-client", "3.5.0")])
def test_another_pyspark_is_refused(name: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from traces.tables.spark import session

    def version(of: str) -> str:
        if of == name:
            return found
        raise session.PackageNotFoundError(of)

    monkeypatch.setattr(session, "version", version)
    with pytest.raises(NoSpark, match=f"this needs {name} 4.0 or a later 4, not {found}"):
        session.check_installed()
    found = "4.0.0"
    session.check_installed()
