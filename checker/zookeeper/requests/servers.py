"""Find the real ZooKeeper servers that a command runs, and list those that can run here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.report.answer import Listed
from checker.report.result import Part, Table, plural
from checker.requests.base.quorum_system import release_option
from checker.requests.base.request import Option, Request, function
from checker.requests.base.watch import QUIET, Watch

if TYPE_CHECKING:
    from traces.zookeeper.reenact.distributions import Release


@dataclass(frozen=True)
class ServersRequest(Request):
    """The servers to run."""

    release: Annotated[str, release_option("The release whose servers are run, and whose model is searched.")] = ""
    zookeeper: Annotated[
        str, Option("Run the servers of your own build, and compare them with --release.", metavar="DIR")
    ] = ""
    servers: Annotated[
        str, Option("Folder with the release's unpacked distribution (default: what is installed).", metavar="DIR")
    ] = ""
    jar: Annotated[
        str, Option("Use this server jar in place of that of the servers found: a patched build.", metavar="FILE")
    ] = ""

    def validate(self) -> None:
        if self.zookeeper and self.servers:
            raise RequestError("--zookeeper and --servers contradict each other: give one")

    def found(self, release: str) -> Release:
        """Return the servers of a release.

        Raises:
            RequestError: a folder, or a jar, that the request names has none.
            NoVerdict: they cannot be run here.
        """
        from traces.zookeeper.reenact.distributions import find_release

        return find_release(release, self.zookeeper, self.servers, self.jar)


@dataclass(frozen=True)
class Servers(ServersRequest):
    """List the releases that can run here, and how to get the others; `release` may name some, with commas."""

    kind: ClassVar[str] = "servers"
    excluded: ClassVar[tuple[str, ...]] = ("zookeeper", "jar")
    mode: ClassVar[str | Option] = Option(
        "List the releases that can run here, and how to get the others.", flag="list-servers"
    )

    def answer(self, watch: Watch = QUIET) -> Listed:
        from traces.zookeeper.reenact.distributions import Cannot, listed, maven_command, write_poms

        with watch.working() as show:
            show("looks for servers")
            try:
                origins = listed([name for name in self.release.split(",") if name], self.servers)
                missing = [name for name, origin in origins.items() if not origin]
                command = maven_command(write_poms(missing)) if missing else ""
            except Cannot as problem:
                raise RequestError(str(problem)) from None
        rows = [(name, origin or "not here") for name, origin in origins.items()]
        body: list[Part] = [Table(rows, ("release", "servers"))]
        if command:
            body.append(f"Maven gets those that are not here into its local repository with\n\n    {command}")
        content = [{"release": name, "servers": origin} for name, origin in origins.items()]
        return Listed(plural(len(rows), "release"), content=content, body=body, kind="servers")


servers = function(Servers)
