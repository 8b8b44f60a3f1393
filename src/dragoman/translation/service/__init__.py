"""Translation of texts of many callers, in many directions: a server's core, without HTTP."""
