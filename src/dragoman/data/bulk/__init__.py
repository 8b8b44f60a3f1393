"""Corpora that many workers clean, count and encode, shard by shard.

Every result equals, byte for byte, that of one process which reads the whole corpus.
"""
