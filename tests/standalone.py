"""A standalone cluster of Spark on this machine, whose daemons can be killed. Linux alone: it reads /proc."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

from tests.patience import until
from traces.java import find_java

WORKERS = ("127.0.0.1", "127.0.0.2")  # two hosts, or a task that runs twice would not be told from one that is lost


class Standalone:
    """A standalone master and its workers, on loopback."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder = folder
        self.home = Path(pyspark.__file__).parent
        self.java = find_java(folder).home
        self.processes: list[subprocess.Popen[bytes]] = []
        log = self.start("master.Master", WORKERS[0], "--port", "0")
        self.master = said(log, r"Starting Spark master at (spark://\S+)")
        for host in WORKERS:
            self.worker(host)

    def worker(self, host: str) -> int:
        """Start a worker of one core; returns its number among the daemons."""
        work = str(self.folder / f"worker-{host}")
        options = ("--cores", "1", "--memory", "1g", "--work-dir", work, self.master)
        said(self.start("worker.Worker", host, *options), r"(Successfully registered) with master")
        return len(self.processes) - 1

    def start(self, name: str, host: str, *options: str) -> Path:
        """Start one of Spark's own daemons; returns its log."""
        log = self.folder / f"{name}-{len(self.processes)}.log"
        environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "JAVA_HOME": str(self.java),
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self.folder),  # what a killed executor leaves goes with it
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC",
        }
        program = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*program, "--host", host, "--webui-port", "0", *options],
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes.append(process)
        return log

    def kill(self, k: int) -> None:
        """Kill a daemon and all that came of it: a worker with its executor and its tasks."""
        for pid in reversed(descendants(self.processes[k].pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.processes[k].wait()

    def end(self) -> None:
        for k in range(len(self.processes)):
            if self.processes[k].poll() is None:
                self.kill(k)


def said(log: Path, pattern: str) -> str:
    """What a daemon says, once it does."""
    assert until(lambda: re.search(pattern, log.read_text(errors="replace"))), log.read_text(errors="replace")
    found = re.search(pattern, log.read_text(errors="replace"))
    assert found is not None
    return found[1]


def descendants(pid: int) -> list[int]:
    """A process and all that came of it."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(path.read_text().rsplit(")", 1)[1].split()[1])
            children.setdefault(parent, []).append(int(path.parent.name))
    out = [pid]
    for one in out:
        out += children.get(one, [])
    return out
