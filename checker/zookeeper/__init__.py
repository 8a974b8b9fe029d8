"""The track record: what is known to be broken in ZooKeeper, found again (docs/zookeeper.md)."""
