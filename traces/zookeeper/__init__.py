"""Check the directories and text logs of ZooKeeper servers against ZAB's promises (`zabcheck audit`).

Start with `audit.py`. `logs.py` and `snapshots.py` read files, `replay.py` rebuilds the tree; `order.py`, `agree.py`
and `digests.py` make the findings, whose codes are in `codes.py`.
"""
