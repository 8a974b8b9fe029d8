"""Check servers' own logs at INFO, and their disks in the end, against their release's model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import RequestError

if TYPE_CHECKING:
    from checker.requests.conform import ConformRequest
    from traces.conform.from_lines import FromLines
    from traces.conform.server_lines import ServerLines

LOG = re.compile(r".*\.(?:log|txt|out|json)(?:\.\d+)?(?:\.gz)?")
NUMBERED = re.compile(r"log([1-9]\d{0,8})\.txt")


def answer_logs(request: ConformRequest) -> FromLines:
    """Search for a run of the model that writes the servers' logs and ends with their disks.

    Args:
        request: its record is a folder with the servers' logs and the data directory `serverN` of each server N. The
            logs are `logN.txt`, or any files of one or several servers that name these in their lines (`[myid:N]`).

    Raises:
        RequestError: the folder lacks a file, a file cannot be read, or nothing determines the model.
    """
    from traces.conform.from_lines import explained_by_lines
    from traces.conform.server_lines import read_server_lines
    from traces.reenact.stores import read_disk
    from traces.zookeeper.text_logs import first_time
    from zabspec.authoring.declaration import ConfigError
    from zabspec.files import Unreadable

    folder = Path(request.record)
    try:
        files = [path for path in folder.iterdir() if LOG.fullmatch(path.name) is not None and path.is_file()]
        if not files:
            raise RequestError(f"{folder} has no log1.txt: name a folder with logN.txt and serverN of each server N")
        named = {int(m[1]): path for path in files if (m := NUMBERED.fullmatch(path.name)) is not None}
        lines = read_server_lines(named if len(named) == len(files) else sorted(files, key=first_time))
        found = lines.servers
        missing = next((n for n in found if not (folder / f"server{n}").is_dir()), None)
        if missing is not None:
            raise RequestError(f"{folder} has a log of server {missing}, and no data directory server{missing}")
        disks = {n: read_disk(folder / f"server{n}") for n in found}
        done = explained_by_lines(lines, disks, variant_of(request, lines), request.time_limit or 0.0)
        if request.release and not request.variant:
            done.named = tuple(sorted(lines.releases - {request.release}))
        return done
    except OSError as problem:
        raise RequestError(f"{folder} cannot be read: {problem.strerror}") from None
    except (ConfigError, Unreadable) as problem:
        raise RequestError(str(problem)) from None


def variant_of(request: ConformRequest, lines: ServerLines) -> str:
    """Return the variant of the protocol that the logs are checked against.

    Raises:
        RequestError: the logs name no release or several, and the request none.
    """
    from checker.zookeeper.releases import variant_of as variant_of_release
    from checker.zookeeper.releases import with_settings
    from zabspec.protocols.registry import PROTOCOLS

    if request.variant:
        return with_settings(PROTOCOLS["zookeeper"], request.variant)
    if request.release:
        return variant_of_release("zookeeper", request.release)
    if len(lines.releases) != 1:
        named = ", ".join(sorted(lines.releases)) or "no release"
        raise RequestError(f"the logs name {named}: give --release NUMBER")
    return variant_of_release("zookeeper", next(iter(lines.releases)))
