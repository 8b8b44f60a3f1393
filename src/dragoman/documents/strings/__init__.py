"""Strings of programs: placeholders, plural forms, messages of ICU."""
