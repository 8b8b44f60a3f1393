"""Folders of files that projects keep with their translations: one class for each layout."""
