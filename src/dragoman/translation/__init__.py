"""Text in, text out: engines, workers, and the translator that callers use."""
