"""The generator of the embedded corpus: meanings are drawn, then said in each language.

Names and patterns come from CLDR (through Babel), numerals from num2words; the grammar that joins
them is here, one file per language.  What it drew with seed 1 is installed with Dragoman
(``dragoman.text.synthetic``), which needs neither library.
"""
