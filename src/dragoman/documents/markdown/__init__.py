"""Markdown and its dialects: blocks, inline markup, and what is written again."""
