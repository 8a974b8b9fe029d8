"""Finding official servers, and whether what they log can be read."""

from __future__ import annotations

import hashlib
import re
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from checker.cli import main
from tests.servers import SPARK, found, nowhere, official
from traces.zookeeper.reenact import distributions
from traces.zookeeper.reenact.distributions import MAIN, Cannot, NoServers, find_release, maven_command, write_poms
from traces.zookeeper.reenact.ensemble import BUILT, SOURCE, built_shim, place_shim
from traces.zookeeper.reenact.servers import CannotRun, Server, free_ports, wait_for_logs
from zabspec.temporary import temporary_folder


def jar(path: Path, server: bool = True) -> Path:
    """A jar that has the class with which a server starts, or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(f"{MAIN.replace('.', '/')}.class" if server else "other.class", path.name)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with Java that has neither PySpark nor Maven, and no poms yet; its PATH."""
    programs, java = tmp_path / "programs", nowhere("3.9.5").java
    monkeypatch.setattr(distributions, "find_runtime", lambda least: java)
    monkeypatch.setattr(distributions, "find_spec", lambda name: None)
    monkeypatch.setenv("ZABCHECK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(programs))
    programs.mkdir()
    return programs


def names(release: distributions.Release) -> list[str]:
    return [path.name for path in release.jars]


# --- where servers are found ------------------------------------------------------------------------


def test_no_java_and_no_linux_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(least: int) -> None:
        raise distributions.NoJava(f"Java {least} or later: PATH has Java 7")

    monkeypatch.setattr(distributions, "find_runtime", none)
    with pytest.raises(Cannot, match="servers need Java 8 or later: PATH has Java 7"):
        find_release("3.9.5")
    monkeypatch.setattr(distributions.sys, "platform", "darwin")
    with pytest.raises(Cannot, match="on Linux alone"):
        find_release("3.9.5")


@pytest.mark.usefixtures("bare")
def test_a_release_is_found_in_a_folder_of_distributions(tmp_path: Path) -> None:
    """As archives unpack and as Maven's jars are laid out; 3.4 has its jar beside lib, and 3.5.3 is called beta."""
    folder = tmp_path / "all"
    jars = {
        "3.9.5": "apache-zookeeper-3.9.5-bin/lib/zookeeper-3.9.5.jar",
        "3.4.14": "zookeeper-3.4.14/zookeeper-3.4.14.jar",
        "3.5.3": "zookeeper-3.5.3-beta/zookeeper-3.5.3-beta.jar", "3.5.4": "zookeeper-3.5.4/lib/zookeeper-3.5.4.jar",
    }  # fmt: skip
    for path in jars.values():
        server = jar(folder / path)
        root = server.parent.parent if server.parent.name == "lib" else server.parent
        jar(root / "lib" / "another.jar", server=False)
    for release, path in jars.items():
        servers = find_release(release, servers=str(folder))
        assert servers.jars[0] == (folder / path).resolve()
        assert names(servers)[1:] == ["another.jar"]
    root = folder / "apache-zookeeper-3.9.5-bin"
    assert find_release("3.9.5", servers=str(root)).jars[0] == (folder / jars["3.9.5"]).resolve()
    with pytest.raises(NoServers, match=r"no distribution of ZooKeeper 3\.9\.1: .*--list-servers --release 3\.9\.1"):
        find_release("3.9.1", servers=str(folder))


@pytest.mark.usefixtures("bare")
def test_a_jar_takes_the_place_of_the_one_that_was_found(tmp_path: Path) -> None:
    folder = tmp_path / "zookeeper-3.9.5" / "lib"
    jar(folder / "zookeeper-3.9.5.jar")
    jar(folder / "another.jar", server=False)
    patched = jar(tmp_path / "patched.jar")
    assert names(find_release("3.9.5", servers=str(tmp_path), jar=str(patched))) == ["patched.jar", "another.jar"]
    for wrong in (folder, folder / "another.jar", Path(__file__), tmp_path / "none"):
        with pytest.raises(NoServers, match="is not the jar of a ZooKeeper server"):
            find_release("3.9.5", servers=str(tmp_path), jar=str(wrong))


@pytest.mark.usefixtures("bare")
def test_the_command_says_how_to_get_what_is_missing(tmp_path: Path) -> None:
    """One pom has the releases as modules, each with what its servers need and its own pom does not bring."""
    answer = CliRunner().invoke(main, ["reenact", "--list-servers", "--release", "3.9.5,3.7.2,3.4.14"])
    assert answer.exit_code == 0
    assert re.search(r"^3\.7\.2 +not here$", answer.output, re.M)
    pom = tmp_path / "cache" / "servers" / "pom.xml"
    assert maven_command(pom).split() == answer.output[answer.output.index("mvn -B") :].replace("\\\n", "").split()
    assert re.findall("<module>(.*)</module>", pom.read_text()) == ["3.9.5", "3.7.2", "3.4.14"]
    wanted = {
        "3.9.5": {"zookeeper", "metrics-core", "snappy-java", "logback-classic"},
        "3.7.2": {"zookeeper", "metrics-core", "snappy-java", "slf4j-reload4j"}, "3.4.14": {"zookeeper"},
    }  # fmt: skip
    for release, artifacts in wanted.items():
        text = (pom.parent / release / "pom.xml").read_text()
        assert set(re.findall("<dependency>.*<artifactId>(.*)</artifactId>", text)) == artifacts
    assert write_poms(["3.9.5"]) == pom.parent / "3.9.5" / "pom.xml"


# --- the library that holds threads -----------------------------------------------------------------


@pytest.mark.parametrize("machine", BUILT)
def test_a_shipped_library_is_of_its_source(machine: str) -> None:
    """If this fails: python -m benchmarks.build_shim."""
    assert hashlib.sha256(SOURCE.read_bytes()).hexdigest().encode() in built_shim(machine).read_bytes()


# --- what servers log -------------------------------------------------------------------------------


def one_server(folder: Path, release: distributions.Release, sockets: Path) -> Server:
    """A server of three, of which the others are not there."""
    ports = free_ports(9)
    others = {n: (ports[3 * n - 2], ports[3 * n - 1], False) for n in (1, 2, 3)}
    own = (ports[0], *others[1][:2])
    return Server(folder, 1, release, own, others, {}, place_shim(sockets), None)


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("release", ["3.4.14", "3.5.10"])
def test_a_server_logs_what_is_waited_for(release: str, tmp_path: Path) -> None:
    """With log4j 1.2 and reload4j; with log4j 2 and Logback `test_reenactment.py` waits for them."""
    with temporary_folder("shim") as sockets:
        server = one_server(tmp_path, official(release), sockets)
        try:
            server.start()
            wait_for_logs([server])
        finally:
            server.kill()


@pytest.mark.slow(seconds=3)
def test_a_server_that_logs_nothing_is_refused_and_one_that_ends(tmp_path: Path) -> None:
    whole = official(SPARK)
    for kind, without, said in (
        ("silent", ("log4j", "slf4j-reload4j", "logback"), r"3\.9\.5 from .*logs nothing that can be read"),
        ("ends", ("slf4j-api",), r"ends at its start: java\.lang\.NoClassDefFoundError: org/slf4j"),
    ):
        jars = tuple(path for path in whole.jars if not path.name.startswith(without))
        release = distributions.Release(SPARK, whole.java, jars, whole.origin)
        with temporary_folder("shim") as sockets:
            server = one_server(tmp_path / kind, release, sockets)
            try:
                server.start()
                with pytest.raises(CannotRun, match=said):
                    wait_for_logs([server])
            finally:
                server.kill()


def test_the_servers_of_pyspark_are_found() -> None:
    """No test of them is skipped where the extra `spark` is installed."""
    pytest.importorskip("pyspark")
    servers = found(SPARK)
    assert not isinstance(servers, str), servers
