"""Serving walks to a browser: which models there are, what a request may ask, jobs, and the page.

Start with `service.py`: what each request gets, without HTTP. `app.py` is the door in front of it, `jobs.py` what takes
longer than a click, `page.py` the page and its copy in one file, `serving.py` the server's life. The truth about states
is in `traces/walk/` (docs/decisions/0021-walk.md).
"""
