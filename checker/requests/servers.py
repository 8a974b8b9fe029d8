"""Find the real ZooKeeper servers that a command runs, and list those that can run here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from checker.errors import NoVerdict, RequestError
from checker.requests.request import Option, Request

if TYPE_CHECKING:
    from traces.reenact.distributions import Release


@dataclass(frozen=True)
class ServersRequest(Request):
    """The servers to run."""

    release: Annotated[
        str,
        Option(
            "The release whose servers are run, and whose model is searched.",
            metavar="NUMBER",
            complete="zookeeper_releases",
        ),
    ] = ""
    zookeeper: Annotated[
        str, Option("Run the servers of your own build, and compare them with --release.", metavar="DIR")
    ] = ""
    servers: Annotated[
        str,
        Option("Folder with the release's unpacked distribution (default: what is installed).", metavar="DIR"),
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
            NoVerdict: they cannot be run here.
        """
        from traces.reenact.distributions import Cannot, find_release

        try:
            return find_release(release, self.zookeeper, self.servers, self.jar)
        except Cannot as problem:
            raise NoVerdict(str(problem)) from None


def listed_servers(releases: Sequence[str], servers: str = "") -> tuple[dict[str, str], str]:
    """Find all releases, or those that are named, and write a pom of those that are missing.

    Returns:
        By release where it was found, or empty; and the command that gets the missing ones, empty if none is.

    Raises:
        RequestError: there is no such release, or the pom cannot be written.
    """
    from traces.reenact.distributions import Cannot, listed, maven_command, write_poms

    try:
        origins = listed(releases, servers)
        missing = [name for name, origin in origins.items() if not origin]
        return origins, maven_command(write_poms(missing)) if missing else ""
    except Cannot as problem:
        raise RequestError(str(problem)) from None
