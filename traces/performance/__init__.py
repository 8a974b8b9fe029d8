"""How fast Phase 3 is: figures 6 and 7 of DSN'11 from timed runs over seeds, here or on Spark.

Start with `points.py`; `pictures.py` draws them. The timed runs are `zabspec/timed/`.
"""
