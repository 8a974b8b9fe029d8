"""`zabcheck audit --logs`: build a history of phases from servers' text logs, and judge it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from checker.commands.common import Answer
from checker.commands.publishing import publish
from checker.requests.audit_logs import AuditLogsRequest, answer

if TYPE_CHECKING:
    from checker.report.audit_logs import LogsReport

DRAWN = ("html", "svg", "png")


def judged_logs(request: AuditLogsRequest, outputs: Mapping[str, Path | None], as_json: bool) -> Answer:
    """Read text logs and judge their history.

    Args:
        outputs: the files to draw, by their format.
    """
    report = answer(request)
    return publish(report, as_json, more=pictures(report, outputs))


def pictures(report: LogsReport, outputs: Mapping[str, Path | None]) -> list[tuple[Path, bytes]]:
    """Return the pictures that the flags request.

    Raises:
        UsageError: a PNG is requested, and the package that makes one is not installed.
    """
    if not any(outputs.values()):
        return []
    from importlib.metadata import version

    from traces.pictures.png import NoRasterizer, rasterised
    from traces.pictures.svg import document
    from traces.zookeeper.log_picture import page_of_logs, picture_of_logs

    drawn = picture_of_logs(report.history, report.broken, version("zabcheck"))
    out = []
    for kind, path in outputs.items():
        if path is None:
            continue
        try:
            data = page_of_logs(drawn).encode() if kind == "html" else document(drawn.picture).encode()
            out.append((path, rasterised(data.decode()) if kind == "png" else data))
        except NoRasterizer as missing:
            raise click.UsageError(str(missing)) from None
    return out
