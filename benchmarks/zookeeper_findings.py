"""Run the tests of `checker/zookeeper/findings/` on ZooKeeper, without and with the repair, and record the output.

    python -m benchmarks.zookeeper_findings [--only trunc] [--release 3.9.5]

Maven brings the sources and test classes of each release, and JUnit. A test is compiled with these test classes, as it
is or, for an earlier release, edited. Then the repaired files are compiled, and their classes put before the
server's jar. A release without the methods that the test calls is recorded as not compiled. Needs javac and mvn.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from checker.zookeeper.finding import FOLDER, RUNS, SHARED, TESTS, Finding, finding_of, findings
from checker.zookeeper.repair import DoesNotFit, apply_repair, read_repair
from traces.zookeeper.reenact.distributions import LOGGING_OPTIONS, Release, find_release

TAG = "3.9.5"
RELEASES = ("3.5.3", "3.5.10", "3.6.0", "3.7.0", "3.8.0", "3.8.5", "3.8.6", "3.9.1", "3.9.2", "3.9.3", "3.9.4", TAG)
POM = """\
<project><modelVersion>4.0.0</modelVersion><groupId>zabcheck</groupId><artifactId>tests</artifactId><version>1</version>
<dependencies>{}</dependencies></project>
"""
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><classifier>{}</classifier>"
    "</dependency>"
)
# The same calls in earlier releases.
EARLIER = (
    (r"log\.append\(new Request\(.*, zxid\)\);", "log.append(hdr, txn);"),
    (r"QuorumPeer\.testingQuorumPeer\(\)", "new QuorumPeer()"),
    (r"2000, 2000, 2000, -1, db, self", "2000, 2000, 2000, db, self"),
)
CASE = re.compile(r"(\w+)\(\)(?: \d+ ms)? (✔|✘) *(.*)")
OBJECT = re.compile(r"@[0-9a-f]+\b")  # which differs from run to run
PASSED = "passed"
OWN = [name for name in findings() if name not in SHARED]  # those with a test of their own


@cache
def of_maven(release: str) -> tuple[Path, list[Path]]:
    """Return the jar of a release's sources, and those of its test classes and of JUnit."""
    version = f"{release}-beta" if release == "3.5.3" else release
    needed = (
        ("org.apache.zookeeper", "zookeeper", version, "sources"),
        ("org.apache.zookeeper", "zookeeper", version, "tests"),
        ("junit", "junit", "4.13.2", ""),
        ("org.junit.platform", "junit-platform-console-standalone", "1.10.5", ""),
    )
    folder = Path(tempfile.mkdtemp(prefix="zabcheck-pom-"))
    (folder / "pom.xml").write_text(POM.format("".join(DEPENDENCY.format(*one) for one in needed)))
    words = ["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), "dependency:build-classpath"]
    subprocess.run([*words, f"-Dmdep.outputFile={folder / 'classpath'}"], check=True, stdout=subprocess.DEVNULL)
    sources, *jars = map(Path, (folder / "classpath").read_text().split(":"))
    return sources, jars


def compiled(sources: list[Path], path: list[Path], out: Path) -> str:
    """Compile sources; return the first errors, or an empty text."""
    words = ["javac", "-nowarn", "-proc:none", "-Xlint:none", "-cp", ":".join(map(str, path)), "-d", str(out)]
    done = subprocess.run([*words, *map(str, sources)], capture_output=True, text=True, check=False)
    errors = re.findall(r"error: (.*)", done.stderr)
    return "; ".join(errors[:3]) or "javac failed" if done.returncode else ""


def printed(finding: Finding, servers: Release, path: list[Path], folder: Path) -> dict[str, str]:
    """Run the test; return for each of its methods "passed", or what it printed."""
    name = finding.test_path.removeprefix(f"{TESTS}/").removesuffix(".java").replace("/", ".")
    words = [str(servers.java.program), *LOGGING_OPTIONS, f"-Dbuild.test.dir={folder / 'build'}"]
    words += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", ":".join(map(str, path))]
    words += ["org.junit.platform.console.ConsoleLauncher", "-c", name, "--disable-banner", "--disable-ansi-colors"]
    done = subprocess.run([*words, "--details=tree"], capture_output=True, text=True, check=False, timeout=600)
    found = {m[1]: PASSED if m[2] == "✔" else OBJECT.sub("", m[3]) for m in CASE.finditer(done.stdout)}
    if len(found) != finding.test.count("@Test"):
        raise SystemExit(f"{finding.name}: not every test ran: {done.stdout[-500:]}{done.stderr[-500:]}")
    return dict(sorted(found.items()))


def on_release(finding: Finding, release: str) -> dict[str, Any]:
    """Run the test on an unchanged release, and with the repair where it fits."""
    earlier = finding.test
    for pattern, instead in EARLIER:
        earlier = re.sub(pattern, instead, earlier)
    with tempfile.TemporaryDirectory() as made:
        folder, servers = Path(made), find_release(release)
        sources, tests = of_maven(release)
        (folder / "build").mkdir()
        libraries, why = [*servers.jars, *tests], ""
        for how, text in (("as it is", finding.test), ("edited", earlier)):
            source, out = folder / how.replace(" ", "-") / f"{finding.test_name}.java", folder / f"out-{how[:2]}"
            source.parent.mkdir()
            source.write_text(text)
            why = compiled([source], libraries, out)
            if not why:
                found = {"test": how, "methods": printed(finding, servers, [out, *libraries], folder)}
                return found | repaired(finding, servers, sources, [out, *libraries], folder)
        return {"not_compiled": why}


def repaired(finding: Finding, servers: Release, sources: Path, path: list[Path], folder: Path) -> dict[str, Any]:
    """Run a compiled test on a release whose sources were repaired."""
    repair = read_repair(finding.repair)
    with zipfile.ZipFile(sources) as jar:
        names = set(jar.namelist())
        jar.extractall(folder / "sources", [name for name in repair if name in names])
    try:
        changed = apply_repair(repair, folder / "sources")
    except DoesNotFit:
        return {"not_repaired": "the repair does not fit"}
    if why := compiled(changed, path, folder / "repaired"):
        return {"not_repaired": f"the repaired classes do not compile: {why}"}
    return {"repaired": printed(finding, servers, [folder / "repaired", *path], folder)}


def main() -> None:
    """Run the tests of each finding, and record the output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=OWN, action="append")
    parser.add_argument("--release", action="append", help="these alone; what is known of others stays")
    given = parser.parse_args()
    for name in given.only or OWN:
        finding = finding_of(name)
        kept = finding.runs.get("releases", {}) if finding.runs.get("sha256") == finding.digests() else {}
        for release in given.release or RELEASES:
            kept[release] = on_release(finding, release)
            print(name, release, kept[release], flush=True)
        runs = {
            "tag": f"release-{TAG}", "sha256": finding.digests(), "repaired": kept[TAG]["repaired"],
            "releases": {v: kept[v] for v in RELEASES if v in kept},
        }  # fmt: skip
        place = Path(__file__).parent.parent / "checker" / "zookeeper" / FOLDER / name / RUNS
        place.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
