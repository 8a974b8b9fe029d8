"""Requests about ZooKeeper's servers and their data, one file each. Start with `audit.py`."""
