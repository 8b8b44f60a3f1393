"""AsciiDoc: lines and blocks, inline markup, and what is written again."""
