"""Public corpora: downloaded, verified, and laid out as the recipes expect.

``dragoman.text.corpora.corpus_manifest`` records the origin and the expected text of each.
"""
