"""Write and read event tables: runs as Parquet files, one row per event.

Start with `table.py`, the schema; `recorded.py` writes simulated runs and traces, `own.py` is for user protocols.
"""
