"""The embedded corpus: numbers, ordinals, dates, times, durations and amounts, written out.

One row says the same thing in English, German, French, Spanish and Korean, in words only.  The
names and patterns come from CLDR (through Babel), the numerals from num2words; the grammar that
joins them is here, one file a language.  It needs no download and is exact to score, so the
demo, the tests and the documentation train on it.
"""

from dragoman.text.synthetic.corpus import LANGUAGES, Row, Splits, generate, write
from dragoman.text.synthetic.meanings import KINDS

__all__ = ["KINDS", "LANGUAGES", "Row", "Splits", "generate", "write"]
