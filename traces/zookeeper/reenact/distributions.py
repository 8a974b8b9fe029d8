"""Find the servers of a ZooKeeper release, and the Java and the options to start them with.

Searched in this order: a build (`--zookeeper`), a folder of distributions (`--servers`), the jars of an installed
PySpark, and Maven's local repository. Nothing is downloaded: for Maven there is a pom of each release, with what a
server needs beside its declared dependencies, and one command that gets them all.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from traces.java import Java, NoJava, find_runtime
from traces.zookeeper.disk.rules import version as version_of
from zabspec.errors import NoVerdict, RequestError
from zabspec.extras import missing
from zabspec.files import write_whole
from zabspec.language.native.jit import cache_folder
from zabspec.protocols.registry import PROTOCOLS

LEAST_JAVA = 8
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
LOGGING = Path(__file__).parent / "logging"
# Each library reads its own; the default configuration of each lacks lines that a re-enactment waits for.
LOGGING_OPTIONS = tuple(
    f"-D{name}={(LOGGING / file).as_uri()}"
    for name, file in (
        ("log4j.configuration", "log4j.properties"),
        ("log4j2.configurationFile", "log4j2.properties"),
        ("logback.configurationFile", "logback.xml"),
    )
)
# Where the text has no walk through the log (`walk`), so that there is none. Else both are as by default.
NO_WALK = ("-Dzookeeper.preAllocSize=64", "-Dzookeeper.snapshotSizeFactor=-1")
BETA = {"3.5.3", "3.5.4"}  # released as 3.5.3-beta and 3.5.4-beta
# what a server needs of PySpark's jars, which are many
OF_SPARK = (
    "zookeeper-jute-", "audience-annotations-", "commons-cli-", "commons-io-", "commons-lang-", "log4j-",
    "metrics-core-", "netty-", "slf4j-", "snappy-java-",
)  # fmt: skip
MAVEN_SECONDS = 300
PATTERN = re.compile(r"\d+\.\d+\.\d+")


class Cannot(NoVerdict):
    """Real servers cannot be run here, or did not behave as required; the message says why in one sentence."""


class NoServers(RequestError):
    """The folder, or the jar, that was named has no servers."""


@dataclass(frozen=True)
class Release:
    """A release of ZooKeeper to start.

    Attributes:
        name: the name of the release, or of the one with which a build of the user's own is compared.
        java: the runtime.
        jars: the class path; the server's jar comes first.
        origin: where the jars were found.
        settings: options of the JVM that change what servers do.
    """

    name: str
    java: Java
    jars: tuple[Path, ...]
    origin: str
    settings: tuple[str, ...] = NO_WALK

    def command(self, configuration: Path, *options: str) -> list[str]:
        """Return the command that starts a server, with further options of the JVM."""
        classes = ":".join(map(str, self.jars))
        return [str(self.java.program), *LOGGING_OPTIONS, *options, "-cp", classes, MAIN, str(configuration)]

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the server's jar."""
        return hashlib.sha256(self.jars[0].read_bytes()).hexdigest()

    def described(self) -> str:
        """Return in words what is started."""
        return f"ZooKeeper {self.name} from {self.origin}, with Java {self.java.version} ({self.java.source})"

    @property
    def batches(self) -> bool:
        """Return whether the sync thread forces its whole queue at once, as before 3.6.0 (zookeeper.maxBatchSize)."""
        return version_of(self.name) < (3, 6)

    @property
    def is_34(self) -> bool:
        """Return whether the release is 3.4.

        There a leader saves no snapshot when it is elected, and a commit thread takes a transaction before it is held.
        """
        return version_of(self.name) < (3, 5)


def find_release(release: str, zookeeper: str = "", servers: str = "", jar: str = "") -> Release:
    """Find the servers of a release.

    Args:
        release: its number, or, with `zookeeper`, the name of the release that the build is compared with.
        zookeeper: a build, or an unpacked distribution.
        servers: a folder that has the release's distribution, or is it.
        jar: a server's jar, in place of that of what was found.

    Raises:
        NoServers: a place that was named has none.
        Cannot: something else is missing.
    """
    if sys.platform != "linux":
        raise Cannot("real ZooKeeper servers are run on Linux alone")
    if lacking := missing("kazoo"):
        raise Cannot(f"real ZooKeeper servers need a client, {lacking}")
    try:
        java = find_runtime(LEAST_JAVA)
    except NoJava as problem:
        raise Cannot(f"real ZooKeeper servers need {problem}") from None
    if zookeeper:
        jars, origin = of_build(Path(zookeeper)), zookeeper
    elif servers:
        jars, origin = of_distribution(Path(servers), release), servers
    else:
        jars, origin = installed(release)
    if jar:
        if not is_server(Path(jar)):
            raise NoServers(f"{jar} is not the jar of a ZooKeeper server")
        jars, origin = [Path(jar).resolve(), *jars[1:]], f"{jar}, the other jars from {origin}"
    return Release(release, java, tuple(jars), origin)


def is_server(path: Path) -> bool:
    """Return whether a file is a jar that has the class with which a server starts."""
    try:
        with zipfile.ZipFile(path) as jar:
            return f"{MAIN.replace('.', '/')}.class" in jar.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def server_first(jars: Iterable[Path]) -> list[Path]:
    """Return jars as a class path that begins with the server's; empty if there is no such jar."""
    real = list(dict.fromkeys(path.resolve() for path in jars))
    server = next((path for path in real if path.name.startswith("zookeeper") and is_server(path)), None)
    return [server, *(path for path in real if path != server)] if server else []


def of_build(folder: Path) -> list[Path]:
    """Return the class path of a build, or of an unpacked distribution.

    Raises:
        NoServers: the folder is neither.
    """
    target = folder / "zookeeper-server" / "target"
    places = (folder, folder / "lib", target / "lib", target)
    jars = server_first(path for place in places for path in sorted(place.glob("*.jar")))
    if not jars:
        raise NoServers(
            f"{folder} is no build of ZooKeeper: neither it nor its lib or zookeeper-server/target has a server's jar"
        )
    return jars


def of_distribution(folder: Path, release: str) -> list[Path]:
    """Return the class path of a release's distribution: the folder, or one directly below.

    Raises:
        NoServers: it is not there.
    """
    names = [f"zookeeper-{name}.jar" for name in (release, official(release))]
    for place in ("lib", "*/lib", ".", "*"):  # 3.4 has its jar beside lib
        for name in names:
            for found in sorted(folder.glob(f"{place}/{name}")):
                root = found.parent.parent if found.parent.name == "lib" else found.parent
                if jars := server_first([found, *root.glob("*.jar"), *root.glob("lib/*.jar")]):
                    return jars
    raise NoServers(
        f"{folder} has no distribution of ZooKeeper {release}: no zookeeper-{release}.jar; {how_to(release)}"
    )


def official(release: str) -> str:
    """Return the name under which a release was published."""
    return f"{release}-beta" if release in BETA else release


def how_to(release: str) -> str:
    """Return how to get a release, which zabcheck never downloads."""
    if not PATTERN.fullmatch(release):
        return f"{release} is no release: give a build of it with --zookeeper"
    return f"`zabcheck reenact --list-servers --release {release}` prints the command that gets it"


# --- what is installed ------------------------------------------------------------------------------


def installed(release: str) -> tuple[list[Path], str]:
    """Return the class path of a release, of PySpark's jars or of Maven's local repository, and which of the two.

    Raises:
        Cannot: neither has it.
    """
    spark, name = of_spark()
    if spark and release == spark_release(spark):
        return spark, name
    found = of_maven([release]) if PATTERN.fullmatch(release) else {}
    if release in found:
        return found[release], "Maven's local repository"
    have = f"{name} have {spark_release(spark)}" if spark else "no PySpark is installed"
    maven = "Maven's local repository has not this one" if shutil.which("mvn") else "there is no `mvn` here"
    raise Cannot(f"no ZooKeeper {release} found: {have}, and {maven}; {how_to(release)}")


def of_spark() -> tuple[list[Path], str]:
    """Return the class path of the ZooKeeper in an installed PySpark, empty if there is none, and its name."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return [], ""
    folder = Path(spec.origin).parent / "jars"
    server = sorted(folder.glob("zookeeper-[0-9]*.jar"))
    rest = [path for path in sorted(folder.glob("*.jar")) if path.name.startswith(OF_SPARK)]
    return server_first([*server, *rest]), f"the jars of PySpark {version('pyspark')}"


def spark_release(jars: Sequence[Path]) -> str:
    """Return the release of PySpark's ZooKeeper, by the name of its jar."""
    return jars[0].stem.removeprefix("zookeeper-")


def of_maven(releases: Sequence[str]) -> dict[str, list[Path]]:
    """Return the class paths of the releases that Maven's local repository has.

    What Maven answers is kept beside the poms: it takes seconds.

    Raises:
        Cannot: the poms cannot be written.
    """
    for name in releases:
        write_pom(poms() / name, pom_of(name))
    missing = [name for name in releases if not read_classpath(poms() / name)]
    if missing and shutil.which("mvn"):
        command = ["mvn", "-o", "-q", "-B", "-fae", "-f", str(write_poms(missing)), "dependency:build-classpath"]
        try:
            subprocess.run(command, capture_output=True, check=False, timeout=MAVEN_SECONDS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Cannot(f"`mvn -o` does not end within {MAVEN_SECONDS} s") from None
    found = {name: read_classpath(poms() / name) for name in releases}
    return {name: jars for name, jars in found.items() if jars}


def read_classpath(folder: Path) -> list[Path]:
    """Return the class path that Maven wrote for a pom; empty if there is none, or a jar of it is gone."""
    try:
        jars = [Path(word) for word in (folder / CLASSPATH).read_text().strip().split(":")]
    except OSError:
        return []
    return server_first(jars) if all(path.is_file() for path in jars) else []


CLASSPATH = "classpath"
POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>zabcheck</groupId>
  <artifactId>{name}</artifactId>
  <version>1</version>
{body}</project>
"""
DEPENDENCY = """\
    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>
"""
RELEASE = """\
  <dependencies>
{dependencies}  </dependencies>
  <build><plugins><plugin>
    <artifactId>maven-dependency-plugin</artifactId>
    <configuration><outputFile>{classpath}</outputFile></configuration>
  </plugin></plugins></build>
"""


def poms() -> Path:
    """Return the folder of the releases' poms."""
    return cache_folder() / "servers"


def pom_of(release: str) -> str:
    """Return the pom of a release."""
    needed = "".join(DEPENDENCY.format(*one.split(":")) for one in dependencies(release))
    return POM.format(name=f"zookeeper-{release}", body=RELEASE.format(dependencies=needed, classpath=CLASSPATH))


def write_poms(releases: Sequence[str]) -> Path:
    """Write the poms of releases, and return the path of one that has them all.

    Raises:
        Cannot: they cannot be written.
    """
    for name in releases:
        write_pom(poms() / name, pom_of(name))
    if len(releases) == 1:
        return poms() / releases[0] / "pom.xml"
    modules = "".join(f"    <module>{name}</module>\n" for name in releases)
    body = f"  <packaging>pom</packaging>\n  <modules>\n{modules}  </modules>\n"
    return write_pom(poms(), POM.format(name="zookeeper-servers", body=body))


def write_pom(folder: Path, text: str) -> Path:
    """Write a pom, unless it is there already; without it, what Maven wrote for another one is gone.

    Raises:
        Cannot: it cannot be written.
    """
    path = folder / "pom.xml"
    try:
        if not path.exists() or path.read_text() != text:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / CLASSPATH).unlink(missing_ok=True)
            write_whole(path, text.encode())
    except OSError as problem:
        raise Cannot(f"cannot write {path}: {problem.strerror} (set ZABCHECK_CACHE to another folder)") from None
    return path


def dependencies(release: str) -> list[str]:
    """Return the artifacts that a server of a release needs, each as group:artifact:version.

    Two libraries are declared as provided, and some releases declare no binding of SLF4J, or an optional one: without
    it a server logs nothing.
    """
    number = version_of(release)
    out = [f"org.apache.zookeeper:zookeeper:{official(release)}"]
    if number >= (3, 6):
        out += ["io.dropwizard.metrics:metrics-core:4.1.12.1", "org.xerial.snappy:snappy-java:1.1.10.5"]
    if number >= (3, 9, 4):
        out.append("ch.qos.logback:logback-classic:1.3.15")
    elif release in {"3.5.10", "3.6.4", "3.7.1", "3.7.2", "3.9.3"}:
        out.append("org.slf4j:slf4j-reload4j:1.7.36")
    return out


def maven_command(pom: Path) -> str:
    """Return the command that gets every release of a pom into Maven's local repository."""
    return f"mvn -B -fae -f {pom} dependency:build-classpath"


def listed(releases: Sequence[str] = (), servers: str = "") -> dict[str, str]:
    """Return, of each release, where its servers are found here; empty if nowhere.

    Args:
        releases: the ones that are asked about; all that the model has if there are none.
        servers: a folder of distributions.

    Raises:
        Cannot: a name is no release's.
    """
    modelled = [name for of_text in PROTOCOLS["zookeeper"].declared.releases.values() for name in of_text]
    names = list(releases) or sorted(filter(PATTERN.fullmatch, modelled), key=version_of, reverse=True)
    if wrong := [name for name in names if not PATTERN.fullmatch(name)]:
        raise Cannot(f"{wrong[0]} is no release of ZooKeeper")
    out = dict.fromkeys(names, "")
    spark, spark_name = of_spark()
    for name in names:
        with contextlib.suppress(Cannot):
            out[name] = servers if servers and of_distribution(Path(servers), name) else ""
        if not out[name] and spark and name == spark_release(spark):
            out[name] = spark_name
    left = [name for name, origin in out.items() if not origin]
    return out | dict.fromkeys(of_maven(left), "Maven's local repository")
