"""A process that has read every outside library once, and forks a child for each mutant: the child reads the project's
own files, the mutated one among them, and runs tests of it until one fails.

Spoken to in lines of JSON (see `campaign.Warm`). It works in a copy of the tree, which is its current folder.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

LIBRARIES = (
    "pytest", "hypothesis", "hypothesis.strategies", "click.testing", "rich.console", "llvmlite.binding", "z3",
    "numpy", "networkx", "concurrent.futures", "multiprocessing",
)  # fmt: skip
LATER = ("pyarrow", "pyarrow.parquet", "pandas")  # only where a test of the file reads tables
MEMORY = 6 << 30  # bytes of address space that a child may have beyond the server's
PATIENCE = 3.0, 6.0  # CPU-seconds a test may take: this much, and so many times what it takes of the unmutated tree
PYTEST = (
    "-x", "-q", "--tb=line", "--assert=plain", "--no-header", "--no-summary",
    "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler",
)  # fmt: skip


class Watch:
    """Runs the tests it is given, in the order given; says which it is at, and what the first failure is.

    Args:
        tests: node ids, each with its cost in CPU-seconds; none: all that the request asks for are measured, and
            the lines of its files noted as they are run, by test.
    """

    def __init__(self, tell: Any, tests: dict[str, float], request: dict[str, Any]) -> None:
        self.tell, self.tests = tell, tests
        self.files = {} if tests else {str(Path(file).resolve()): file for file in request["files"]}
        self.named, self.without = request.get("arguments", ()), request.get("without", ())
        self.failure: dict[str, str] | None = None
        self.failed: set[str] = set()
        self.costs: dict[str, float] = {}
        self.lines: dict[str, dict[str, list[int]]] = {}
        self.now: dict[str, set[int]] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.tests:
            place = {name: k for k, name in enumerate(self.tests)}
            items[:] = sorted((i for i in items if i.nodeid in place), key=lambda i: place[i.nodeid])
        else:
            items[:] = [i for i in items if self.wanted(i)]

    def wanted(self, item: Any) -> bool:
        """Slow ones are taken only where they are named, but for those that say how many seconds they take: what
        these cost is measured like any other's."""
        if any(part in item.nodeid for part in self.without):
            return False
        slow = item.get_closest_marker("slow")
        return slow is None or "seconds" in slow.kwargs or item.nodeid.split("[")[0] in self.named

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and self.failure is None:
            self.failure = {"test": report.nodeid, "why": str(report.longrepr)[-2000:], "how": "import"}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
            if self.failure is None:
                crash = getattr(report.longrepr, "reprcrash", None)
                why = crash.message if crash else str(report.longrepr)
                self.failure = {"test": report.nodeid, "why": why[:2000], "how": "failed"}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        cost = self.tests.get(nodeid)
        self.tell({"at": nodeid})
        self.started = time.process_time()
        if cost is not None:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE[0] + PATIENCE[1] * cost)
        if self.files:
            self.now = {file: set() for file in self.files}
            threading.settrace(self.trace)
            sys.settrace(self.trace)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.costs[nodeid] = round(time.process_time() - self.started, 3)
        self.lines[nodeid] = {self.files[file]: sorted(lines) for file, lines in self.now.items()}

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        return self.trace_line if frame.f_code.co_filename in self.files else None

    def trace_line(self, frame: FrameType, event: str, arg: object) -> Any:
        self.now[frame.f_code.co_filename].add(frame.f_lineno)
        return self.trace_line


def in_child(request: dict[str, Any], tell: Any) -> dict[str, Any]:
    """What the tests say of the tree as it is now."""
    import pytest

    if request["batches"]:
        for batch in request["batches"]:
            watch = Watch(tell, batch, request)
            files = list(dict.fromkeys(name.split("::")[0] for name in batch))
            status = pytest.main([*PYTEST, *files], plugins=[watch])
            if watch.failure is None and status:
                watch.failure = {"test": "", "why": f"pytest ends with {status}", "how": "import"}
            if watch.failure is not None:
                return watch.failure
        return {"test": "", "why": "", "how": "survived"}
    watch = Watch(tell, {}, request)
    pytest.main([*(a for a in PYTEST if a != "-x"), *request["arguments"]], plugins=[watch])
    return {"costs": watch.costs, "lines": watch.lines, "failed": sorted(watch.failed), "broken": watch.failure}


def forked(request: dict[str, Any]) -> dict[str, Any]:
    """A child's answer; how it died, if it did."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        pipe = os.fdopen(write, "w")

        def tell(what: dict[str, Any]) -> None:
            pipe.write(json.dumps(what) + "\n")
            pipe.flush()

        try:
            prepare(request)
            tell({"answer": in_child(request, tell)})
        except BaseException as error:
            tell({"answer": {"test": "", "why": repr(error), "how": "import"}})
        os._exit(0)
    os.close(write)
    at, answer = "", None
    deadline = time.monotonic() + request["wall"]
    watcher = threading.Timer(request["wall"], lambda: os.kill(pid, signal.SIGKILL))
    watcher.start()
    with os.fdopen(read) as pipe:
        for line in pipe:
            said = json.loads(line)
            at, answer = said.get("at", at), said.get("answer", answer)
    _, status = os.waitpid(pid, 0)
    watcher.cancel()
    if answer is not None:
        return dict(answer)
    late = time.monotonic() >= deadline or os.WTERMSIG(status) == signal.SIGPROF
    how = "out of time" if late else "crashed"
    return {"test": at, "why": f"ended by {signal.Signals(os.WTERMSIG(status)).name}", "how": how}


def prepare(request: dict[str, Any]) -> None:
    """A child writes no bytecode, says nothing, and has bounds."""
    sys.dont_write_bytecode = bool(request["batches"])
    with open("child.log", "w", encoding="utf-8") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    signal.signal(signal.SIGINT, signal.default_int_handler)


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request, and what it cost; of a mutant with the file's text replaced, after which all is as it
    was."""
    started = time.perf_counter()
    busy = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = mutated(request) if "text" in request else forked(request)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer["cpu"] = round(now.ru_utime + now.ru_stime - busy.ru_utime - busy.ru_stime, 3)
    answer["seconds"] = round(time.perf_counter() - started, 3)
    return answer


def mutated(request: dict[str, Any]) -> dict[str, Any]:
    path = Path(request["file"])
    whole = path.read_text(encoding="utf-8")
    cache = Path(os.environ["ZABCHECK_CACHE"])
    before = set(cache.glob("*"))
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        old.unlink()
    try:
        path.write_text(request["text"], encoding="utf-8")
        return forked(request)
    finally:
        path.write_text(whole, encoding="utf-8")
        for made in set(cache.glob("*")) - before:
            made.unlink()


def main() -> None:
    """Answer requests until there are no more."""
    out = os.fdopen(os.dup(1), "w")
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
    for name in (*LIBRARIES, *(LATER if "--tables" in sys.argv else ())):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    from hypothesis import settings

    settings.register_profile("mutants", derandomize=True, database=None)
    settings.load_profile("mutants")
    for line in sys.stdin:
        out.write(json.dumps(answered(json.loads(line))) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
