"""Public corpora: downloaded, verified, and laid out as the recipes expect.

``dragoman.text.corpora.corpus_manifest`` records where each comes from and what its text must be.
"""
