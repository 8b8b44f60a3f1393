"""The steps, each a module that names the one before it (``down_revision``).

Whoever changes a table of ``tables.py`` adds a step with the next number as its ``revision``; the
tests compare what all steps make with the tables.  Steps of released versions never change.
"""
