"""Vocabularies: pieces of words and their ids, learnt, imported, sampled and extended."""
