"""Read a quorum system as a user names it: `majority`, a zoo.cfg, or the text in reports and traces.

A request has the text, never the file: what is explored, cached and saved does not change with the file.
"""

from __future__ import annotations

from pathlib import Path

from checker.errors import RequestError

TEXTS = ("weights ", "groups ")  # the beginning of the text of a system


def quorums_given(value: str) -> str:
    """Return the text of a quorum system; empty for majorities.

    Args:
        value: `majority`, the text of a system, or the path of a zoo.cfg.

    Raises:
        RequestError: it is none of these, or no model has such a system.
    """
    from checker.requests.audit import config_text
    from zabspec.ensemble import ConfigError, parse
    from zabspec.quorums import MAJORITY, text_of

    if value in ("", MAJORITY):
        return ""
    if value.startswith(TEXTS):
        return check_text(value)
    try:
        return text_of(parse(config_text(Path(value))))
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
