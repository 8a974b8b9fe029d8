"""A wing: data directories, logs and records of ZooKeeper's servers. Start with `audit/`; `disk/` reads the files."""
