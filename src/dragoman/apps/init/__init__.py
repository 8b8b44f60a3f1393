"""From a text to a configuration whose size fits: ``dragoman init``."""
