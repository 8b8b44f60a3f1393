"""Public corpora: downloaded, verified, and laid out as the recipes name them.

``manifest.yaml`` says where each comes from and what its text must be.
"""
