"""The track record: known bugs of ZooKeeper, found again in the model of each release (docs/zookeeper.md).

Start with `rows.py`, a row for each bug, then `record.py`, which checks a row. `matrix.py` checks every row against
every release, `residue.py` what is left with all known repairs.
"""
