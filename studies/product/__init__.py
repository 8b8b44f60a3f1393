"""Strings of products: the catalogues of published packages, and translations of their lines."""
