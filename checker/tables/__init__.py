"""A wing: explore on Spark, and answer requests about event tables. Start with `engine.py`, then `distributed/`."""
