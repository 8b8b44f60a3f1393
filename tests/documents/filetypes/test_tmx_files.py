"""TMX: units without the target language get it."""

from __future__ import annotations

import pytest
from string_files import opened, texts, translated

from dragoman.core.errors import DataError

MEMORY = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" adminlang="en"/><body>
  <tu><tuv xml:lang="en-US"><seg>Hi <bpt i="1">&lt;b></bpt>you<ept i="1">&lt;/b></ept></seg></tuv>
      <tuv xml:lang="fr"><seg>Salut</seg></tuv></tu>
  <tu><tuv xml:lang="EN-us"><seg>Yes</seg></tuv><tuv xml:lang="DE-at"><seg>Ja</seg></tuv></tu>
  <tu><tuv xml:lang="en-US"><seg>No</seg></tuv><tuv xml:lang="de"><seg/></tuv></tu>
  <tu><tuv xml:lang="it"><seg>Ciao</seg></tuv></tu>
</body></tmx>"""


def test_variants_that_are_missing_are_added() -> None:
    assert texts("a.tmx", MEMORY) == ["Hi you", "No"]
    found = translated("a.tmx", MEMORY)
    assert (
        '<seg>Salut</seg></tuv>\n      <tuv xml:lang="de" creationtool="Dragoman"><seg>HI '
        '<bpt i="1">&lt;b></bpt>YOU<ept i="1">&lt;/b></ept></seg></tuv></tu>' in found
    )
    assert '<tuv xml:lang="de"><seg>NO</seg></tuv>' in found
    assert texts("a.tmx", found) == []
    assert opened("a.tmx", MEMORY).source_language == "en-US"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<x/>", "not TMX"),
        (f"<{'x' * 5000}/>", r"not TMX: it begins with <x{80}>$"),
        ('<tmx><header srclang="*all*"/><body/></tmx>', "which of its languages"),
        ("<tmx><body/></tmx>", "which of its languages"),
        ("<tmx>&x;</tmx>", "undefined entity"),
    ],
)
def test_bad_files(content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        opened("a.tmx", content)


def test_codes_part_texts_and_glue_no_words() -> None:
    seg = 'one<ph type="lb"/>two<ph x="1">&lt;br&gt;</ph>ten.<ph x="2"/>Six'
    file = (
        '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en">'
        f"<seg>{seg}</seg></tuv></tu></body></tmx>"
    )
    assert texts("a.tmx", file) == ["one", "two", "ten.", "Six"]
    wanted = seg.replace("one", "ONE").replace("two", "TWO").replace("ten", "TEN")
    assert wanted.replace("Six", "SIX") in translated("a.tmx", file)
