"""Apache ZooKeeper as it is built (docs/zookeeper.md): `text.py` is the whole, and the other files are its parts."""
