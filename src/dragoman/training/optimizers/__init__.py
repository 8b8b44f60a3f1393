"""Optimizers: update rules, independent of sharding and the number of processes."""
