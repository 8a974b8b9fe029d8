"""The requests: a frozen dataclass for each kind of request, its validation, and `answer()`.

Start with `explore.py`; what requests are made of is in `base/`.
Nothing here prints or knows a command line. A `Watch` follows a request while it is answered.
The command line, the Python API, `zabcheck check` and the pytest plugin make requests and render answers.
"""
