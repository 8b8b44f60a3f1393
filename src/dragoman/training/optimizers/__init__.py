"""Optimizers: update rules that know neither sharding nor the number of processes."""
