"""Read what a server of ZooKeeper has on its disk. Start with `server.py`, then `logs.py` and `snapshots.py`."""
