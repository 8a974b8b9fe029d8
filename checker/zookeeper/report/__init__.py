"""Answers of requests about ZooKeeper's servers and their data. Start with `audit.py`."""
