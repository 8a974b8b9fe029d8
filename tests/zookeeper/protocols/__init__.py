"""ZooKeeper as a protocol: releases, known bugs, mutants."""
