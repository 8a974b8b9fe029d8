"""Run and record schedules as traces, and read, write and verify trace files.

Start with `trace.py`, then `runner.py` and `file.py`. `instrumented.py` is what a world provides to be recorded.
"""
