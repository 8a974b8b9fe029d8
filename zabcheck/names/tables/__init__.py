"""Public names about event tables. All are in `__init__.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the public names, each with the module that has it
    from checker.tables.report.judged import Judged as Judged
    from checker.tables.report.swept import Swept as Swept
    from checker.tables.requests.judge import judge as judge
    from checker.tables.requests.sweep import sweep as sweep
