"""Traces re-enacted with ZooKeeper's servers."""
