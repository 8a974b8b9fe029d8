"""`zabcheck zookeeper --drift`: what a change of ZooKeeper's sources touches in the text."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checker.zookeeper import source_tree
from checker.zookeeper.citations import cited_methods, functions, releases, rules_of
from checker.zookeeper.drift import CHANGED, NEW, UNCHANGED, UNKNOWN, MethodDrift, compare, guessed, recorded
from checker.zookeeper.drift import data as recorded_digests
from checker.zookeeper.java_syntax import Unparsed, read_java
from checker.zookeeper.source_tree import FolderTree
from tests.commands.running import assert_refused, run
from tests.transcript import compare_cases, edited

SERVER = "zookeeper-server/src/main/java/org/apache/zookeeper/server"
LEARNER, SUMMARY, QUORUM = f"{SERVER}/quorum/Learner.java", f"{SERVER}/quorum/StateSummary.java", f"{SERVER}/quorum"
POM = "<project><artifactId>parent</artifactId>\n<version>{}</version></project>"
# Recorded as what every release has (`of_ours`).
STATE_SUMMARY = """
package org.apache.zookeeper.server.quorum;
public class StateSummary {
    private long currentEpoch;
    private long lastZxid;
    public boolean isMoreRecentThan(StateSummary ss) {
        return currentEpoch == ss.currentEpoch ? lastZxid > ss.lastZxid : currentEpoch > ss.currentEpoch;
    }
}
"""
TEXT = Path(__file__).with_name("drift.txt")
SOURCES = {
    name: "".join(f"{line[2:]}\n" for line in text.splitlines())
    for name, text in re.findall(r"^file (\w+)\n((?:\|.*\n)+)", TEXT.read_text(encoding="utf-8"), re.MULTILINE)
}
METHOD = SOURCES.pop("Method")
USES, BASE, DATABASE = (SOURCES[name] for name in ("Learner", "Base", "ZKDatabase"))


@pytest.fixture(autouse=True)
def of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded of StateSummary's method is the digest of the one above, not of ZooKeeper's."""
    data: dict[str, Any] = json.loads(json.dumps(recorded_digests()))
    (method,) = read_java(STATE_SUMMARY.encode())["StateSummary"].methods("isMoreRecentThan")
    data["cited"]["StateSummary.isMoreRecentThan"][0]["overloads"] = {method.parameters: method.normal.digest}
    monkeypatch.setattr("checker.zookeeper.drift.data", lambda: data)


def digests(source: str) -> list[str]:
    return [m.normal.digest for m in read_java(source.encode())["Learner"].methods("syncWithLeader")]


def test_what_a_change_touches(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The digest of a method, or what cited methods use."""
    before = tree(tmp_path / "before", **SOURCES)
    folders = (tmp_path / str(number) for number in itertools.count())

    def said(title: str, lines: list[str]) -> Iterator[str]:
        name, *change = lines
        if name == "Method":
            same = digests(edited(METHOD, change, title)) == digests(METHOD)
            yield "the digest stays" if same else "another digest"
            return
        now = tree(next(folders), **SOURCES | {name: edited(SOURCES[name], change, title)})
        drift = compare(FolderTree(now), "3.9.5", FolderTree(before))
        assert drift.of(CHANGED, NEW) == [], title
        for m in drift.used:
            if m.state != UNCHANGED:
                assert "on_diff" in {f.name for f in m.functions}
                assert "DIFF" in m.steps
                yield f"{m.method} {m.state}"

    compare_cases(TEXT, said, request)


def test_operators_and_ends_of_statements_are_kept_apart() -> None:
    """`a + ++b` is not `a++ + b`, and `return; f()` is not `return f()`."""
    bodies = (
        "byte a[], b;",
        "byte[] a, b;",
        "x = a + ++b;",
        "x = a++ + b;",
        "return; f();",
        "return f();",
        "return (a + b) * c;",
        "return a + b * c;",
        "while (f()) ; g();",
        "while (f()) g();",
    )
    whole = [f"class Learner {{ int syncWithLeader() {{ {body} }} }}" for body in bodies]
    assert len({digests(text)[0] for text in whole}) == len(bodies)


def test_bytes_that_are_not_utf_8_are_kept_apart() -> None:
    source = b'class Learner { void syncWithLeader() { f("\xe9"); /* \xff */ } }'
    one, other = (read_java(s)["Learner"].methods("syncWithLeader") for s in (source, source.replace(b"\xe9", b"\xe8")))
    assert one[0].normal.digest != other[0].normal.digest
    assert digests("\ufeff" + METHOD.replace("\n", "\r\n")) == digests(METHOD)


# --- trees ------------------------------------------------------------------------------------------


def tree(folder: Path, version: str = "3.9.5", **files: str) -> Path:
    """A tree with files in the package of the quorum, by their names without `.java`."""
    (folder / QUORUM).mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(POM.format(version))
    for name, text in files.items():
        (folder / QUORUM / f"{name}.java").write_text(text)
    return folder


def of(method: str, now: Path, before: Path | None = None) -> MethodDrift:
    drift = compare(FolderTree(now), "3.9.5", FolderTree(before) if before else None)
    return next(m for m in drift.methods if m.method == method)


def asked(*words: str, code: int) -> dict[str, Any]:
    result = run("zookeeper", "--drift", *words, "--json")
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["exit_code"] == code
    return found


@pytest.mark.slow(seconds=2)
def test_a_recorded_method_is_recognised_in_every_release(tmp_path: Path) -> None:
    now = tree(tmp_path, StateSummary=STATE_SUMMARY)
    for release in ("3.4.10", "3.6.0", "3.9.5", "master"):
        drift = compare(FolderTree(now), release)
        states = {m.method: m.state for m in drift.methods}
        assert states.pop("StateSummary.isMoreRecentThan") == UNCHANGED
        assert UNCHANGED not in states.values()


def test_a_changed_method_names_functions_and_steps(tmp_path: Path) -> None:
    tree(tmp_path, StateSummary=STATE_SUMMARY.replace("lastZxid > ss", "lastZxid >= ss"))
    found = asked(str(tmp_path), code=1)
    assert (found["release"], found["version"]) == ("3.9.5", "3.9.5")
    changed = [m for m in found["methods"] if m["state"] == CHANGED]
    assert [m["method"] for m in changed] == ["StateSummary.isMoreRecentThan"]
    assert changed[0]["place"] == f"{SUMMARY}:6"
    assert [f["function"] for f in changed[0]["functions"]] == ["on_ackepoch"]
    assert changed[0]["steps"] == ["ACKEPOCH"]


def test_what_is_not_found_is_unknown_and_no_verdict(tmp_path: Path) -> None:
    """Nor is it counted among the methods that have not changed."""
    folder = str(tree(tmp_path, StateSummary=STATE_SUMMARY))
    told = run("zookeeper", "--drift", folder).stdout
    assert "none of 1 cited method that could be compared have changed, and none of 2 " in " ".join(told.split())
    found = asked(folder, code=3)
    states = {m["method"]: m["state"] for m in found["methods"]}
    assert states["Learner.syncWithLeader"] == UNKNOWN
    assert sum(state == UNKNOWN for state in states.values()) > 50


def test_a_moved_method_is_unknown(tmp_path: Path) -> None:
    moved = STATE_SUMMARY.replace("class StateSummary", "class Vote")
    found = of("StateSummary.isMoreRecentThan", tree(tmp_path / "a", Vote=moved))
    assert (found.state, found.why) == (UNKNOWN, "there is no class StateSummary")
    renamed = STATE_SUMMARY.replace("isMoreRecentThan", "isNewerThan")
    found = of("StateSummary.isMoreRecentThan", tree(tmp_path / "b", StateSummary=renamed))
    assert (found.state, found.why) == (UNKNOWN, "there is no method isMoreRecentThan in class StateSummary")


def test_a_method_of_the_class_above_is_the_classes_own(tmp_path: Path) -> None:
    above = "class ZooKeeperServer { void processTxn(Request r) { apply(r); } }"
    below = "class FollowerZooKeeperServer extends ZooKeeperServer { }"
    own = below.replace("{ }", "{ void processTxn(Request r) { apply(r); } }")
    before = tree(tmp_path / "a", ZooKeeperServer=above, FollowerZooKeeperServer=below)
    same = tree(tmp_path / "b", ZooKeeperServer=above, FollowerZooKeeperServer=below)
    other = tree(tmp_path / "c", ZooKeeperServer=above, FollowerZooKeeperServer=own)
    assert of("FollowerZooKeeperServer.processTxn", same, before).state == UNCHANGED
    found = of("FollowerZooKeeperServer.processTxn", other, before)
    assert (found.state, found.why) == (
        CHANGED,
        "it is declared in FollowerZooKeeperServer, and was in ZooKeeperServer",
    )


def test_overloads_are_told_apart(tmp_path: Path) -> None:
    before = tree(tmp_path / "a", ZKDatabase="class ZKDatabase { void commit() { f(); } void commit(int a) { } }")
    now = tree(tmp_path / "b", ZKDatabase="class ZKDatabase { void commit() { g(); } void commit(long... a) { } }")
    found = of("ZKDatabase.commit", now, before)
    assert (found.state, found.why) == (CHANGED, "() is different, (long ...) is new, (int) is gone")


def test_a_method_that_was_not_there_is_new(tmp_path: Path) -> None:
    before = tree(tmp_path / "a", Learner=METHOD)
    now = tree(tmp_path / "b", Learner=METHOD.replace("class Learner {", "class Learner { void shutdown() { } "))
    assert of("Learner.shutdown", now, before).state == NEW
    assert of("Learner.syncWithLeader", now, before).state == UNCHANGED


def test_nested_classes_are_found_where_they_were(tmp_path: Path) -> None:
    nested = "class Leader { static class ToBeAppliedRequestProcessor { void processRequest(Request r) { %s } } }"
    before, now = tree(tmp_path / "a", Leader=nested % "f();"), tree(tmp_path / "b", Leader=nested % "g();")
    assert of("ToBeAppliedRequestProcessor.processRequest", now, before).state == CHANGED
    assert of("ToBeAppliedRequestProcessor.processRequest", now, now).state == UNCHANGED


# --- what cited methods use ---------------------------------------------------------------------------


def test_what_is_used_and_not_found_is_unknown(tmp_path: Path) -> None:
    """The words of the cited method are as they were, and mean something else now, or nothing."""
    files = SOURCES
    before = FolderTree(tree(tmp_path / "a", **files))
    above = BASE.replace("class Base {", "class Base extends Top {").replace("void end() { } ", "")
    top = BASE.replace("Base", "Top")
    moved = compare(FolderTree(tree(tmp_path / "b", **files | {"Base": above, "Top": top})), "3.9.5", before)
    assert {m.method: m.state for m in moved.used if m.state != UNCHANGED} == {"Base.end()": UNKNOWN, "Top.end()": NEW}
    database = DATABASE.replace("void other() { }", "void commit() { } ")
    own = USES.replace("{ encode(z + MOST); }", "{ new Sub().commit(); }")
    with_own = SOURCES | {"Learner": own, "ZKDatabase": database}
    sub = "package org.apache.zookeeper.server.quorum; class Sub extends ZKDatabase { %s }"
    first = FolderTree(tree(tmp_path / "e", **with_own, Sub=sub % "void commit() { }"))
    cited = compare(FolderTree(tree(tmp_path / "f", **with_own, Sub=sub % "")), "3.9.5", first)
    gone = [m for m in cited.used if m.state != UNCHANGED]
    assert [(m.method, m.state) for m in gone] == [("Sub.commit()", UNKNOWN)]
    lost = tree(tmp_path / "c", **{k: v for k, v in files.items() if k != "Base"})
    found = compare(FolderTree(lost), "3.9.5", before)
    assert {m.method: m.state for m in found.used if m.state != UNCHANGED} == {"Base.end()": UNKNOWN}
    broken = compare(
        FolderTree(tree(tmp_path / "d", **files | {"ZKDatabase": "class ZKDatabase { void store( }"})), "3.9.5", before
    )
    assert {m.method: m.state for m in broken.used if m.state != UNCHANGED} == {"ZKDatabase.store()": UNKNOWN}


def test_a_new_call_is_reported_by_the_method_that_calls(tmp_path: Path) -> None:
    """And what comes nearer to a cited method, or goes further from it, is no difference by itself."""
    before = FolderTree(tree(tmp_path / "a", **SOURCES))
    inserted = USES.replace("{ write(z); }", "{ between(z); }").replace(
        "void send", "void between(long z) { write(z); } void send"
    )
    drift = compare(FolderTree(tree(tmp_path / "b", **SOURCES | {"Learner": inserted})), "3.9.5", before)
    assert [m.method for m in drift.of(CHANGED)] == ["Learner.syncWithLeader"]
    assert [m for m in drift.used if m.state != UNCHANGED] == []


def test_a_change_of_what_is_used_is_told_with_who_uses_it(tmp_path: Path) -> None:
    folder = tree(tmp_path, **SOURCES)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    tree(folder, ZKDatabase=DATABASE.replace("store(long z) { ", "store(long z) { f(); "))
    found = asked(str(folder), "--since", "HEAD", code=1)
    assert [(m["method"], m["by"]) for m in found["used"]] == [("ZKDatabase.store()", ["Learner.syncWithLeader"])]
    told = " ".join(run("zookeeper", "--drift", str(folder), "--since", "HEAD").stdout.split())
    assert "none of 1 cited method have changed, and 1 of 10 methods and fields that they use; " in told


# --- what is no such tree ---------------------------------------------------------------------------


def test_files_that_cannot_be_read_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere.java"
    elsewhere.write_text(STATE_SUMMARY)
    now = tree(tmp_path / "tree", Learner="class Learner { void syncWithLeader( { }", ZKDatabase="// " + "x" * 5000)
    (now / SUMMARY).symlink_to(elsewhere)
    os.mkfifo(now / QUORUM / "Leader.java")
    monkeypatch.setattr(source_tree, "LARGEST", 4000)
    for method, why in (
        ("Learner.syncWithLeader", "not Java that the parser knows"),
        ("StateSummary.isMoreRecentThan", "symbolic link"),
        ("ZKDatabase.commit", "ZKDatabase.java: "),
        ("Leader.lead", "not a regular file"),
    ):
        found = of(method, now)
        assert found.state == UNKNOWN
        assert why in found.why
    assert run("zookeeper", "--drift", str(now)).exit_code == 3


def test_a_folder_that_is_no_tree_is_refused(tmp_path: Path) -> None:
    assert_refused(run("zookeeper", "--drift", str(tmp_path)), f"{tmp_path} is not a source tree of ZooKeeper")
    assert_refused(run("zookeeper", "--drift", str(tmp_path / "x")), "is not a folder")
    (tmp_path / "f").write_text("")
    assert_refused(run("zookeeper", "--drift", str(tmp_path / "f")), "is not a folder")
    assert_refused(run("zookeeper", "--drift", str(tmp_path), "--since", "HEAD"), "git refuses: ")
    assert_refused(run("zookeeper", "--drift", str(tree(tmp_path)), "--against", "3.9.99"), "no release '3.9.99'")
    assert_refused(run("zookeeper", "--drift", str(tree(tmp_path, "2.0.0"))), "--against takes one of master, 3.9.5")
    (tmp_path / "pom.xml").unlink()
    assert_refused(run("zookeeper", "--drift", str(tmp_path)), "has no version: --against takes one of")


def test_a_missing_parser_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from checker.zookeeper import java_syntax

    java_syntax.parser.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "tree_sitter_java", None)
    result = run("zookeeper", "--drift", str(tree(tmp_path)))
    assert_refused(result, "--drift needs tree_sitter_java, which `pip install 'zabcheck[drift]'` installs")


def test_a_deep_file_is_parsed_or_unknown() -> None:
    deep = "class Learner { void syncWithLeader() { x = " + "(" * 5_000 + "1" + ")" * 5_000 + "; } }"
    blocks = "class Learner { void syncWithLeader() { " + "{" * 800 + "f();" + "}" * 800 + " } }"
    assert digests(deep) != digests(blocks)
    with pytest.raises(Unparsed):
        read_java(deep.replace(")", "", 1).encode())


# --- git --------------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> None:
    named = ("-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *named, *words], check=True, capture_output=True)


def test_since_a_revision_names_what_changed_since(tmp_path: Path) -> None:
    folder = tree(tmp_path, Learner=METHOD, StateSummary=STATE_SUMMARY)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    reformatted = METHOD.replace("\n        ", "\n\t\t// a comment\n\t\t")
    git(tree(folder, Learner=reformatted), "commit", "-qam", "two")
    tree(folder, Learner=reformatted.replace("disk.keep", "disk.drop"))
    found = asked(str(folder), "--since", "HEAD", code=1)
    assert [m["method"] for m in found["methods"] if m["state"] != "absent" and m["state"] != UNCHANGED] == [
        "Learner.syncWithLeader"
    ]
    git(folder, "commit", "-qam", "three")
    assert asked(str(folder), "--since", "HEAD^^..HEAD^", code=0)["against"].startswith("commit ")
    git(tmp_path, "clone", "-q", "--bare", str(folder), str(tmp_path / "bare"))
    assert asked(str(tmp_path / "bare"), "--since", "HEAD^", code=1)["methods"] == found["methods"]
    assert_refused(run("zookeeper", "--drift", str(folder), "--since", "--help"), "git refuses: ")
    assert_refused(run("zookeeper", "--drift", str(folder), "--since", "nowhere"), "git refuses: ")


def test_since_a_fork_leaves_out_what_the_other_branch_changes(tmp_path: Path) -> None:
    folder = tree(tmp_path / "a", StateSummary=STATE_SUMMARY)
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["checkout", "-qb", "trunk"]):
        git(folder, *words)
    git(tree(folder, StateSummary=STATE_SUMMARY.replace("lastZxid > ss", "lastZxid >= ss")), "commit", "-qam", "two")
    git(folder, "checkout", "-qb", "mine", "HEAD^")
    assert asked(str(folder), "--since", "trunk", code=1)["exit_code"] == 1
    assert asked(str(folder), "--since", "trunk...", code=0)["exit_code"] == 0
    assert asked(str(folder), "--since", "mine...trunk", code=1)["exit_code"] == 1
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{folder}", str(tmp_path / "shallow"))
    assert_refused(run("zookeeper", "--drift", str(tmp_path / "shallow"), "--since", "HEAD^"), "git fetch --unshallow")


def test_a_module_and_unpacked_sources_are_trees(tmp_path: Path) -> None:
    """As the jar of sources is, whose build file is in META-INF."""
    module = tree(tmp_path, StateSummary=STATE_SUMMARY) / "zookeeper-server"
    (tmp_path / "pom.xml").rename(module / "pom.xml")
    assert asked(str(module), code=3)["version"] == "3.9.5"
    unpacked = module / "src" / "main" / "java"
    inside = unpacked / "META-INF" / "maven" / "org.apache.zookeeper" / "zookeeper"
    inside.mkdir(parents=True)
    (module / "pom.xml").rename(inside / "pom.xml")
    found = {m["method"]: m["state"] for m in asked(str(unpacked), code=3)["methods"]}
    assert found["StateSummary.isMoreRecentThan"] == UNCHANGED


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    folder = tree(tmp_path, StateSummary=STATE_SUMMARY)
    (folder / QUORUM / "loop").symlink_to(folder / QUORUM, target_is_directory=True)
    assert of("StateSummary.isMoreRecentThan", folder).state == UNCHANGED


# --- the text ---------------------------------------------------------------------------------------


def test_every_cited_method_is_recorded_of_every_release() -> None:
    """Where this fails, `python benchmarks/zookeeper_drift.py record REPOSITORY` records what the text cites now."""
    for release in releases():
        assert set(cited_methods()) <= recorded(release).cited.keys(), release


def test_every_function_is_watched_or_said_not_to_be(tmp_path: Path) -> None:
    drift = compare(FolderTree(tree(tmp_path)), "3.9.5")
    covered = {f.name for m in drift.methods for f in m.functions if m.state != "absent"}
    uncovered = {f.name for f, _ in drift.uncovered}
    no_claim = {f.name for f in functions().values() if f.file in ("state.py", "observed.py", "established.py")}
    assert covered | uncovered | no_claim >= {f.name for f in rules_of("3.9.5").steps}
    assert not covered & uncovered


def test_a_release_has_the_functions_that_stand_in() -> None:
    new, old = rules_of("3.9.5").steps, rules_of("3.9.1").steps
    named = {f.name for f in new}, {f.name for f in old}
    assert "persist_received" in named[0] - named[1]
    assert "queue_all" in named[1] - named[0]
    steps = {f.name: set(names) for f, names in new.items()}
    assert steps["sync_follower"] == {"ACKEPOCH"}
    assert steps["leaders_weigh"] == {"election"}
    assert {"on_crash", "TRUNC"}.isdisjoint(steps["take_diff_zxid"])


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("3.9.5", "3.9.5"), ("3.9.6-SNAPSHOT", "3.9.5"), ("3.8.7-SNAPSHOT", "3.8.6"), ("3.10.0-SNAPSHOT", "master"),
        ("4.0.0", "master"), ("3.5.3-beta", "3.5.3"), ("3.5.11", "3.5.10"), ("3.4.9", "3.4.10"),
        ("3.7.0-SNAPSHOT", "3.7.1"), ("3.3.6", ""), ("", ""), ("x", ""),
    ],
)  # fmt: skip
def test_the_release_is_guessed_from_the_version(version: str, release: str) -> None:
    assert guessed(version) == release
