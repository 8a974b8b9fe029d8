"""Audits of ZooKeeper's logs and snapshots."""
