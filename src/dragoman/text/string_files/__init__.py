"""Files with the strings of a program in one language: their keys, and the strings as shown.

:mod:`dragoman.documents.filetypes` reads the same files with the places of their strings, to
translate them.
"""
