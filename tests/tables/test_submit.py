"""`spark-submit` in client mode, on a standalone cluster whose workers have neither zabcheck nor llvmlite installed.

ZABCHECK_PACKED=env.tar.gz pytest tests/tables/test_submit.py

The archive is a packed environment with what docs/how-to/tables-and-spark.md names; the Python it links to has none of
that. It takes some two minutes of processor time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

if not (PACKED := os.environ.get("ZABCHECK_PACKED", "")):
    pytest.skip("ZABCHECK_PACKED names no packed environment", allow_module_level=True)
pytest.importorskip("pyspark")

import pyarrow.parquet as pq

import zabcheck.__main__ as program
from tests.commands.running import run
from tests.standalone import Standalone
from tests.zookeeper.written import ensemble, history, server

PYTHON = "./env/bin/python"  # where executors unpack the archive
OF_THE_MACHINE = (
    "seconds",
    "cpu_seconds",
    "compile_seconds",
    "memory",
    "engine",
    "master",
    "request",
    "table",
    "threads",
)


class Submitting:
    """The cluster, and a spark-defaults.conf of somebody's own with five settings that no default has."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cluster = folder, Standalone(folder)
        (folder / "conf").mkdir()
        (folder / "events").mkdir()
        (folder / "elsewhere").mkdir()
        self.five = {
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}/derby -XX:TieredStopAtLevel=1",
            "spark.ui.enabled": "true",
            "spark.executorEnv.PYTHONPATH": "/opt/theirs",
            "spark.sql.catalogImplementation": "hive",
            "spark.pyspark.python": PYTHON,
        }
        others = {
            "spark.ui.port": "0",
            "spark.archives": f"{PACKED}#env",
            "spark.pyspark.driver.python": sys.executable,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": f"file://{folder}/events",
            "spark.driver.memory": "600m",
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
        }
        lines = [f"{name} {value}\n" for name, value in {**self.five, **others}.items()]
        (folder / "conf" / "spark-defaults.conf").write_text("".join(lines))

    def submit(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command by spark-submit, the driver in another folder."""
        environment = {
            **os.environ,
            "SPARK_HOME": str(self.cluster.home),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "JAVA_HOME": str(self.cluster.java),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        submits = [str(self.cluster.home / "bin" / "spark-submit"), "--master", self.cluster.master]
        return subprocess.run(
            [*submits, str(program.__file__), *words],
            capture_output=True,
            text=True,
            env=environment,
            cwd=self.folder / "elsewhere",
            timeout=1800,
            check=False,
        )

    def applications(self) -> list[str]:
        """The applications that the master has registered, in order."""
        log = next(self.folder.glob("master.Master-*.log")).read_text(errors="replace")
        return re.findall(r"Registered app \S+ with ID (\S+)", log)

    def settings(self, application: str) -> dict[str, str]:
        """What an application says that its settings are."""
        (file,) = (self.folder / "events").rglob(f"events_1_{application}*")
        for line in file.read_text().splitlines():
            event: dict[str, Any] = json.loads(line)
            if event["Event"] == "SparkListenerEnvironmentUpdate":
                found: dict[str, str] = event["Spark Properties"]
                return found
        raise AssertionError("no settings")


@pytest.fixture(scope="module")
def submitting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submitting]:
    made = Submitting(tmp_path_factory.mktemp("submitting"))
    yield made
    made.cluster.end()


def same(here: str, there: str) -> None:
    """Check that two reports say the same, but for what is the machine's."""
    one, other = (strip(json.loads(text)) for text in (here, there))
    assert one == other


def strip(said: Any) -> Any:
    """Leave out of a report what is the machine's."""
    if isinstance(said, dict):
        return {name: strip(value) for name, value in said.items() if name not in OF_THE_MACHINE}
    return [strip(one) for one in said] if isinstance(said, list) else said


SWEEP = ("--seeds", "1:41", "--faults", "0,2", "--events")
EXPLORE = ("--nodes", "2", "--txns", "1", "--timeouts", "1", "--crashes", "0", "--losses", "0", "--json", "--no-trace")


@pytest.mark.slow
def test_a_packed_environment_brings_what_workers_lack() -> None:
    for module in ("zabcheck", "llvmlite", "pyarrow"):
        base = Path(sys.base_prefix) / "bin" / "python3"
        done = subprocess.run([base, "-c", f"import {module}"], capture_output=True, check=False, cwd="/")
        assert b"ModuleNotFoundError" in done.stderr


@pytest.mark.slow
def test_sweep_and_judge_by_spark_submit(submitting: Submitting, tmp_path: Path) -> None:
    before = len(submitting.applications())
    here, there = tmp_path / "here", tmp_path / "there"
    done = submitting.submit("sweep", str(there), *SWEEP)
    assert done.returncode == run("sweep", str(here), *SWEEP).exit_code, done.stderr[-2000:]
    assert (
        pq.read_table(here / "runs.parquet").to_pylist() == pq.read_table(there / "runs").sort_by("number").to_pylist()
    )
    judged = submitting.submit("judge", str(there / "events"), "--engine", "spark", "--json")
    local = run("judge", str(here / "events.parquet"), "--json")
    assert judged.returncode == local.exit_code, judged.stderr[-2000:]
    one, other = json.loads(local.stdout), json.loads(judged.stdout)
    for part in ("runs", "rows", "properties"):
        assert one[part] == other[part]
    check_applications(submitting, before, 2)


@pytest.mark.slow
def test_an_exploration_by_spark_submit(submitting: Submitting, tmp_path: Path) -> None:
    before = len(submitting.applications())
    local = run(*EXPLORE)
    done = submitting.submit(*EXPLORE, "--engine", "spark", "--checkpoint", str(tmp_path / "levels"))
    assert done.returncode == local.exit_code, done.stderr[-2000:]
    one, other = json.loads(local.stdout), json.loads(done.stdout)
    for part in ("sentence", "states", "steps", "properties"):
        assert strip(one[part]) == strip(other[part])
    check_applications(submitting, before, 1)


@pytest.mark.slow
def test_an_audit_by_spark_submit(submitting: Submitting, tmp_path: Path) -> None:
    before = len(submitting.applications())
    txns = history((1, 14), (2, 10), (3, 6))
    folders = [str(p) for p in ensemble(tmp_path, server(txns), server(txns), server([*txns[:16], *txns[17:]]))]
    local = run("audit", *folders, "--json")
    done = submitting.submit("audit", *folders, "--engine", "spark", "--json")
    assert done.returncode == local.exit_code, done.stderr[-2000:]
    same(local.stdout, done.stdout)
    check_applications(submitting, before, 1)


def check_applications(submitting: Submitting, before: int, count: int) -> None:
    """Check that commands were applications of the master, and that the five settings stood in each."""
    made = submitting.applications()[before:]
    assert len(made) == count
    for application in made:
        settings = submitting.settings(application)
        for name, value in submitting.five.items():
            assert settings[name].endswith(value)  # Spark puts its own options for Java before the user's
