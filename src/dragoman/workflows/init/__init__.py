"""From a text to a configuration with a model of suitable size: ``dragoman init``."""
