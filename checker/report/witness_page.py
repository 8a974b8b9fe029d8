"""Draw the runs that reach premises as one page: a table, and each run behind it."""

from __future__ import annotations

from checker.report.witnessed import WitnessReport
from traces.pages.shell import environment
from traces.pictures import to_html
from traces.pictures.html import shown
from traces.pictures.svg import STYLE


def page_of_runs(report: WitnessReport) -> str:
    """Return the page; for a single run it is that of the run.

    Raises:
        TraceError: a run does not show what it is recorded to show.
    """
    traces = {name: c.trace for name, c in report.runs.items() if c.trace is not None and not c.trouble}
    if len(report.judged) == 1 and traces:
        return to_html(next(iter(traces.values())))
    rows = [
        {
            "name": p.name,
            "premise": p.premise,
            "steps": len(traces[p.name].steps) if p.name in traces else None,
            "problem": report.runs[p.name].trouble if p.name in report.runs else report.searched,
        }
        for p in report.judged
    ]
    runs = [(name, shown(trace, f"{name}-")) for name, trace in traces.items()]
    template = environment("traces.pictures", "checker.report").get_template("witness.html.j2")
    return template.render(style=STYLE, sentence=report.sentence, rows=rows, runs=runs)
