"""Apache ZooKeeper as it is built (docs/explanation/zookeeper-bugs.md).

Start with `text.py`, the whole of the other files, which are named for what they model. `variants/releases.py`
has other releases and repairs as differences, `variants/mutants.py` faults planted on purpose.
"""
