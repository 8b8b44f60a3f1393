"""Texts of many callers, in many directions: what a server offers, without HTTP."""
