"""The steps, each a module that names the previous step (``down_revision``).

A change to a table of ``records.py`` needs a step with the next number as its ``revision``.  Tests
compare the result of all steps with the tables.  Steps of released versions never change.
"""
