"""Reproduce known bugs of ZooKeeper in the model of each release: the track record.

`docs/explanation/zookeeper-bugs.md` is the user's page.

Start with `rows.toml`, a row for each bug, then `record.py`, which checks a row on its own release or another.
"""
