"""Read a quorum system as a user names it: `majority`, a zoo.cfg, or the text in reports and traces.

A request has the text, never the file: what is explored, cached and saved does not change with the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from checker.errors import RequestError
from checker.requests.base.request import Option, Words, names_in

if TYPE_CHECKING:
    from zabspec.zoo_cfg import ZooCfg

ServerOptions = Annotated[
    Words,
    Option(
        "A property of the servers' JVM (jute.maxbuffer=4194304), or a file with -D flags (java.env); repeatable.",
        flag="server-option",
        metavar="NAME=VALUE",
    ),
]
TEXTS = ("weights ", "groups ")  # the beginning of the text of a system


def release_option(help: str) -> Option:
    """Return the option of a field that names a release of ZooKeeper."""
    return Option(help, metavar="NUMBER", complete="zookeeper_releases")


def zoo_cfg(path: Path, release: str = "", options: Mapping[str, str] | None = None) -> ZooCfg:
    """Read a configuration as a release does; empty for the newest.

    Args:
        options: properties of the servers' JVM.

    Raises:
        RequestError: it cannot be read, or is not a configuration.
    """
    from zabspec.ensemble import ConfigError
    from zabspec.zoo_cfg import read_zoo_cfg

    check_release(release)
    try:
        return read_zoo_cfg(path, release, options or {})
    except OSError as problem:
        raise RequestError(f"{path}: {problem.strerror}") from None
    except ConfigError as problem:
        raise RequestError(f"{path}: {problem}") from None


def options_given(words: Words) -> dict[str, str]:
    """Return the properties of the servers' JVM.

    Raises:
        RequestError: a word is neither NAME=VALUE nor a file that can be read.
    """
    from zabspec.files import Unreadable, read_small
    from zabspec.zoo_cfg import options_of

    out: dict[str, str] = {}
    for word in names_in(words):
        name, mark, value = word.removeprefix("-D").partition("=")
        if mark and re.fullmatch(r"[A-Za-z][\w.]*", name):
            out[name] = value
            continue
        try:
            out |= options_of(read_small(Path(word)).decode("utf-8", "replace"))
        except Unreadable as problem:
            said = f"--server-option takes NAME=VALUE or a file like java.env, not {word!r}"
            raise RequestError(f"{said}: {problem}") from None
    return out


def check_release(release: str) -> None:
    """Check that the model has a release; empty for any.

    Raises:
        RequestError: it has none.
    """
    from zabspec.zoo_cfg import SAME

    known = [number for numbers in SAME.values() for number in numbers]
    if release and release not in known:
        raise RequestError(f"there is no release {release!r} in the model; there are {', '.join(known)}")


def quorums_given(given: str | PathLike[str]) -> str:
    """Return the text of a quorum system; empty for majorities.

    Args:
        given: `majority`, the text of a system, or the path of a zoo.cfg.

    Raises:
        RequestError: it is none of these, or no model has such a system.
    """
    from zabspec.ensemble import ConfigError
    from zabspec.quorums import MAJORITY, text_of

    value = fspath(given)
    if value in ("", MAJORITY):
        return ""
    if value.startswith(TEXTS):
        return check_text(value)
    try:
        return text_of(zoo_cfg(Path(value)).voters)
    except (ConfigError, RequestError) as problem:
        raise RequestError(f"--quorums: {str(problem).removeprefix(f'{value}: ')} ({value})") from None


def check_text(text: str) -> str:
    """Return the text of a quorum system unchanged, after checking it.

    Raises:
        RequestError: it is not the text of a quorum system.
    """
    from zabspec.ensemble import ConfigError
    from zabspec.quorums import system_of

    try:
        return system_of(text).text if text else ""
    except ConfigError as problem:
        raise RequestError(f"--quorums: {problem}") from None
