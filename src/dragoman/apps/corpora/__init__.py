"""Public corpora: downloaded, verified, and laid out as the recipes expect.

``manifest.yaml`` records where each comes from and what its text must be.
"""
