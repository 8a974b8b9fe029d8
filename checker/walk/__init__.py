"""Serve walks to a browser: the available models, the valid requests, jobs, and the page.

Start with `service.py`: the answer to each request, without HTTP. `app.py` checks requests before it, `jobs.py` does
what takes longer than a click, `page.py` the page and its single-file copy, `serving.py` the server's lifetime. Facts
about states come from `traces/walk/` (docs/decisions/0021-walk.md).
"""
