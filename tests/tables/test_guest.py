"""A Spark session that is there already is used, and left as it was."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import distributions, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from tests.spark import LocalSpark
from traces.tables.spark import NoSpark, SparkFailed
from traces.tables.spark import guest as of_guests
from traces.tables.spark.guest import TOP, has_code
from traces.tables.spark.session import session, settings_for, settings_said

OF_SESSIONS = ("spark.sql.shuffle.partitions", "spark.sql.session.timeZone")


def state_of(spark: Any) -> tuple[object, ...]:
    """What a guest could change."""
    context = spark.sparkContext
    return sorted(context.getConf().getAll()), [spark.conf.get(name) for name in OF_SESSIONS], context.pythonExec


@pytest.mark.slow(seconds=2)
def test_a_guest_changes_nothing(local_spark: LocalSpark, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    host = local_spark.get()
    host.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    monkeypatch.setattr(host.sparkContext, "pythonExec", "python-of-the-host")
    try:
        before = state_of(host)
        with session(partitions=5, conf={"spark.hadoop.a.b": "c", "spark.executor.cores": "9"}) as spark:
            assert spark.sparkContext is host.sparkContext
            assert [spark.conf.get(name) for name in OF_SESSIONS] == ["5", "UTC"]
            assert spark.conf.get("a.b") == "c"
            assert spark.sparkContext.pythonExec == sys.executable
            assert spark.sparkContext.parallelize([1, 2], 2).map(str).collect() == ["1", "2"]
        assert state_of(host) == before
        assert SparkSession.getActiveSession()._jsparkSession.equals(host._jsparkSession)
        assert host.range(3).count() == 3
    finally:
        host.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.slow(seconds=1)
def test_a_guest_that_fails_leaves_its_host(local_spark: LocalSpark) -> None:
    def fails(number: int) -> int:
        raise OSError(28, "No space left on device", "/some/file")

    host = local_spark.get()
    python = host.sparkContext.pythonExec
    with pytest.raises(SparkFailed) as caught, session() as spark:
        spark.sparkContext.parallelize([1], 1).map(fails).collect()
    assert str(caught.value) == "OSError: [Errno 28] No space left on device: '/some/file'", "the task's own, in a line"
    assert host.sparkContext.pythonExec == python
    assert host.range(3).count() == 3


@pytest.mark.slow(seconds=1)
def test_a_guest_that_does_not_begin_leaves_its_host(local_spark: LocalSpark, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that Spark refuses: a sentence, and nothing of the host is changed."""
    host = local_spark.get()
    monkeypatch.setattr(host.sparkContext, "pythonExec", "python-of-the-host")
    before = state_of(host)
    with pytest.raises(SparkFailed, match=r"shuffle\.partitions"), session(conf={"spark.sql.shuffle.partitions": "-1"}):
        pass
    assert state_of(host) == before


@pytest.mark.slow(seconds=2)
def test_another_master_than_that_of_the_host_is_refused(local_spark: LocalSpark) -> None:
    host = local_spark.get()
    with pytest.raises(NoSpark, match="there is a Spark session here, on local"), session("spark://there:7077"):
        pass
    with session(host.sparkContext.master) as spark:
        assert spark.sparkContext is host.sparkContext


class Application:
    """An application of a cluster, which keeps the archives that it is given."""

    applicationId = "app-1"
    master = "spark://there:7077"
    pythonExec = "python3"

    def __init__(self) -> None:
        self.archives: list[str] = []

    def addArchive(self, path: str) -> None:
        self.archives.append(path)


def test_workers_of_a_cluster_get_each_package_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own name, in the folder of the application's files, which pyspark has on the path."""
    monkeypatch.setattr(of_guests, "SENT", set())
    monkeypatch.setattr(of_guests, "PACKAGES", ("zabcheck",))
    application: Any = Application()
    of_guests.send_code(SimpleNamespace(sparkContext=application))
    of_guests.send_code(SimpleNamespace(sparkContext=application))
    names = [path.rpartition("#")[2] for path in application.archives]
    assert names == ["zabcheck", f"zabcheck-{version('zabcheck')}.dist-info"]
    assert Path(application.archives[0].rpartition("#")[0]).is_file()


def test_workers_know_the_version_of_what_they_are_sent(tmp_path: Path) -> None:
    """Tables note it, also where zabcheck is installed nowhere."""
    archive = of_guests.metadata(tmp_path)
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "unpacked" / archive.stem)
    (found,) = distributions(name="zabcheck", path=[str(tmp_path / "unpacked")])
    assert found.version == version("zabcheck")


def test_a_python_without_our_code_is_told(tmp_path: Path) -> None:
    assert not has_code(str(tmp_path / "no-python"))
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho /somewhere/else\n")
    other.chmod(0o755)
    assert not has_code(str(other))
    other.write_text(f"#!/bin/sh\necho {TOP}\n")
    assert has_code(str(other))


def test_what_somebody_has_set_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# ours\nspark.ui.enabled   true\nspark.driver.extraJavaOptions=-Dmine=1 -Dother=2\n"
        "spark.sql.catalogImplementation: hive\nnothing\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS", "--conf 'spark.sql.warehouse.dir=/my house' -c spark.ui.enabled=no pyspark-shell"
    )
    said = settings_said()
    assert said["spark.driver.extraJavaOptions"] == "-Dmine=1 -Dother=2"
    assert said["spark.sql.warehouse.dir"] == "/my house"
    assert said["spark.ui.enabled"] == "no"
    ours = settings_for("local[2]", tmp_path, True, None, None)
    assert not ours.keys() & {*said, "spark.driver.extraJavaOptions"}
    assert ours["spark.sql.shuffle.partitions"] == "2"


def test_a_cluster_is_told_nothing_of_its_own_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    told = settings_for("spark://there:7077", tmp_path, True, 1 << 30, None)
    assert told.keys() == {
        "spark.sql.execution.arrow.pyspark.enabled",
        "spark.sql.session.timeZone",
        "spark.python.daemon.module",
    }
