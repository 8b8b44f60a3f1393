"""Teachers behind HTTP APIs: whatever translates there makes training text here.

:mod:`~dragoman.techniques.teachers.apis` and :mod:`~dragoman.techniques.teachers.chat` know the
APIs, :mod:`~dragoman.techniques.teachers.remote_teacher` asks, checks and keeps, and
:mod:`~dragoman.techniques.teachers.taught_corpus` makes a corpus of the answers.
"""
