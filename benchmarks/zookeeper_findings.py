"""Run the tests of `checker/zookeeper/findings/` on ZooKeeper, without and with the patch, and record the output.

    python benchmarks/zookeeper_findings.py REPOSITORY JARS [--only trunc] [--release 3.9.5]

REPOSITORY is a git directory of apache/zookeeper, JARS a folder of `zookeeper-server-VERSION.jar`. For the release that
a patch is against, the patched files are compiled and put before the jar; the test is compiled with ZooKeeper's own
test sources. Every other release whose jar is there runs the test with the few lines of HELPERS instead of those
sources, as it is and, where the patch applies, with it. A release without the methods that the test calls is recorded
as not compiled. Needs javac, and Debian's junit5 and libhamcrest-java.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from checker.zookeeper.finding import FOLDER, RUNS, SHARED, Finding, finding_of, findings
from checker.zookeeper.source_tree import commit_of, git

TAG = "3.9.5"
OTHER_TAGS = {"3.8.0": "release-3.8.0-1", "master": "53a78e36f99602162643303ab330377fc383b41f"}
LIBRARIES = Path("/usr/share/java")
NAMES = (
    "slf4j-api", "slf4j-simple", "log4j-1.2", "commons-io", "commons-cli", "commons-lang", "netty-all", "metrics-core",
    "snappy-java", "netty-buffer", "netty-handler", "netty-transport", "netty-common", "hamcrest", "opentest4j",
    "junit-jupiter-api", "junit-jupiter-engine", "junit-jupiter-params", "junit-platform-console-standalone",
    "junit-platform-commons", "junit-platform-engine", "apiguardian-api", "junit4",
)  # fmt: skip
# What the tests use of ZooKeeper's test sources.
HELPERS = {
    "org/apache/zookeeper/ZKTestCase.java": "package org.apache.zookeeper; public class ZKTestCase { }",
    "org/apache/zookeeper/PortAssignment.java": """package org.apache.zookeeper;
public class PortAssignment {
    public static int unique() {
        try (java.net.ServerSocket s = new java.net.ServerSocket(0)) {
            return s.getLocalPort();
        } catch (java.io.IOException e) {
            throw new RuntimeException(e);
        }
    }
}""",
    "org/apache/zookeeper/test/ClientBase.java": """package org.apache.zookeeper.test;
import java.io.*;
public class ClientBase {
    public static File createTmpDir() throws IOException {
        return java.nio.file.Files.createTempDirectory("zk").toFile();
    }
    public static void createInitializeFile(File d) throws IOException { new File(d, "initialize").createNewFile(); }
    public static boolean recursiveDelete(File d) { return true; }
}""",
}
ZAB_UTILS = "org/apache/zookeeper/server/quorum/ZabUtils.java"
# The same calls in earlier releases.
EARLIER = (
    (r"log\.append\(new Request\(.*, zxid\)\);", "log.append(hdr, txn);"),
    (r"QuorumPeer\.testingQuorumPeer\(\)", "new QuorumPeer()"),
    (r"2000, 2000, 2000, -1, db, self", "2000, 2000, 2000, db, self"),
)
CASE = re.compile(r"(\w+)\(\)(?: \d+ ms)? (✔|✘) *(.*)")
PASSED = "passed"
OWN = [name for name in findings() if name not in SHARED]  # those with a test of their own


def unpacked(repository: Path, release: str, folder: Path) -> Path:
    """Unpack the sources of a release; return the folder of its tests."""
    commit = commit_of(repository, OTHER_TAGS.get(release, f"release-{release}"))
    with tarfile.open(fileobj=io.BytesIO(git(repository, "archive", commit, "zookeeper-server/src"))) as tar:
        tar.extractall(folder, filter="data")
    return folder / "zookeeper-server/src/test/java"


def compiled(sources: list[Path], path: list[Path], out: Path, helpers: Path | None = None) -> str:
    """Compile sources; return the first errors, or an empty text."""
    found = [] if helpers is None else ["-sourcepath", str(helpers), "-implicit:class"]
    words = ["javac", "-nowarn", "-proc:none", "-Xlint:none", "-cp", ":".join(map(str, path)), *found, "-d", str(out)]
    done = subprocess.run([*words, *map(str, sources)], capture_output=True, text=True, check=False)
    errors = re.findall(r"error: (.*)", done.stderr)
    return "; ".join(errors[:3]) or "javac failed" if done.returncode else ""


def printed(finding: Finding, path: list[Path], folder: Path) -> dict[str, str]:
    """Run the test; return for each of its methods "passed", or what it printed."""
    name = finding.test_path.removeprefix("zookeeper-server/src/test/java/").removesuffix(".java").replace("/", ".")
    words = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", f"-Dbuild.test.dir={folder / 'build'}"]
    words += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", ":".join(map(str, path))]
    words += ["org.junit.platform.console.ConsoleLauncher", "-c", name, "--disable-banner", "--disable-ansi-colors"]
    done = subprocess.run([*words, "--details=tree"], capture_output=True, text=True, check=False, timeout=600)
    found = {m[1]: PASSED if m[2] == "✔" else m[3] for m in CASE.finditer(done.stdout)}
    if len(found) != finding.test.count("@Test"):
        raise SystemExit(f"{finding.name}: not every test ran: {done.stdout[-500:]}{done.stderr[-500:]}")
    return dict(sorted(found.items()))


def on_release(finding: Finding, repository: Path, jars: Path, release: str, helpers: Path) -> dict[str, Any]:
    """Run the test on an unchanged release, and with the patch where it applies."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        libraries = [jars / f"zookeeper-server-{release}.jar", *(LIBRARIES / f"{n}.jar" for n in NAMES)]
        earlier = finding.test
        for pattern, instead in EARLIER:
            earlier = re.sub(pattern, instead, earlier)
        ways = [("stand-ins", helpers, finding.test), ("edited", helpers, earlier)]
        if release == TAG:
            ways.insert(0, ("its own", unpacked(repository, release, folder), finding.test))
        why = ""
        for how, with_helpers, text in ways:
            name = how.replace(" ", "-")
            source, out = folder / name / f"{finding.test_name}.java", folder / f"out-{name}"
            source.parent.mkdir(exist_ok=True)
            source.write_text(text)
            why = compiled([source], libraries, out, with_helpers)
            if not why:
                found = {"helpers": how, "methods": printed(finding, [out, *libraries], folder)}
                unpacked(repository, release, folder / "sources")
                return found | with_patch(finding, folder / "sources", libraries, out)
        return {"not_compiled": why}


def with_patch(finding: Finding, folder: Path, libraries: list[Path], test: Path) -> dict[str, Any]:
    """Run a compiled test on a release with the patch."""
    (folder / "repair.patch").write_text(finding.repair)
    git = ["git", "apply", "repair.patch"]
    done = subprocess.run(git, cwd=folder, capture_output=True, check=False, env=no_repository())
    if done.returncode:
        return {"not_patched": "the patch does not apply"}
    if why := compiled(changed_by(finding, folder), libraries, folder / "patched"):
        return {"not_patched": f"the patched classes do not compile: {why}"}
    return {"patched": printed(finding, [test, folder / "patched", *libraries], folder)}


def changed_by(finding: Finding, folder: Path) -> list[Path]:
    """Return the files that the patch changes, each once."""
    return [folder / name for name in dict.fromkeys(re.findall(r"^\+\+\+ b/(.*)$", finding.repair, re.MULTILINE))]


def repaired(finding: Finding, repository: Path, jars: Path) -> dict[str, str]:
    """Apply the patch to its tag, compile what it changes, and run the test with it."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        own = unpacked(repository, TAG, folder)
        for name, text in (("repair", finding.repair), ("test", finding.test_patch)):
            patch = folder / f"{name}.patch"
            patch.write_text(text)
            for how in (["--check"], []):
                subprocess.run(["git", "apply", *how, patch.name], cwd=folder, check=True, env=no_repository())
        libraries = [jars / f"zookeeper-server-{TAG}.jar", *(LIBRARIES / f"{n}.jar" for n in NAMES)]
        patched, out = folder / "patched", folder / "out"
        for sources, path, place, helpers in (
            (changed_by(finding, folder), libraries, patched, None),
            ([folder / finding.test_path], [patched, *libraries], out, own),
        ):
            if why := compiled(sources, path, place, helpers):
                raise SystemExit(f"{finding.name}: {why}")
        return printed(finding, [out, patched, *libraries], folder)


def no_repository() -> Mapping[str, str]:
    """Return an environment in which git applies to the folder alone."""
    import os

    return {**os.environ, "GIT_DIR": "/nonexistent", "GIT_CEILING_DIRECTORIES": "/"}


def main() -> None:
    """Run the tests of each finding, and record the output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("jars", type=Path)
    parser.add_argument("--only", choices=OWN, action="append")
    parser.add_argument("--release", action="append", help="these alone; what is known of others stays")
    given = parser.parse_args()
    versions = sorted(p.stem.removeprefix("zookeeper-server-") for p in given.jars.glob("zookeeper-server-*.jar"))
    for name in given.only or OWN:
        finding = finding_of(name)
        kept = finding.runs.get("releases", {}) if finding.runs.get("sha256") == finding.digests() else {}
        with tempfile.TemporaryDirectory() as made:
            helpers = Path(made)
            for path, text in HELPERS.items():
                (helpers / path).parent.mkdir(parents=True, exist_ok=True)
                (helpers / path).write_text(text)
            zab_utils = git(given.repository, "show", f"release-{TAG}:zookeeper-server/src/test/java/{ZAB_UTILS}")
            (helpers / ZAB_UTILS).parent.mkdir(parents=True, exist_ok=True)
            (helpers / ZAB_UTILS).write_bytes(zab_utils)
            for release in given.release or versions:
                kept[release] = on_release(finding, given.repository, given.jars, release, helpers)
                print(name, release, kept[release], flush=True)
        runs = {
            "tag": f"release-{TAG}",
            "commit": commit_of(given.repository, f"release-{TAG}"),
            "sha256": finding.digests(),
            "patched": repaired(finding, given.repository, given.jars),
            "releases": {v: kept[v] for v in versions if v in kept},
        }
        print(name, "patched", runs["patched"], flush=True)
        place = Path(__file__).parent.parent / "checker" / "zookeeper" / FOLDER / name / RUNS
        place.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
