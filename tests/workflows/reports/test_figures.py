"""Pictures in fonts that have their characters."""

from __future__ import annotations

from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.ttLib.tables._g_l_y_f import Glyph
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text

from dragoman.workflows.reports.figures import fonts_for, to_png


def made_font(path: Path, name: str, characters: str) -> font_manager.FontEntry:
    """A font whose characters are all empty."""
    glyphs = [".notdef", *(f"u{ord(one):04X}" for one in characters)]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(glyphs)
    builder.setupCharacterMap({ord(one): f"u{ord(one):04X}" for one in characters})
    builder.setupGlyf({glyph: Glyph() for glyph in glyphs})
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (500, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": name, "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800)
    builder.setupPost()
    builder.save(path)
    return font_manager.FontEntry(fname=str(path), name=name, style="normal", weight=400)


@pytest.fixture
def fonts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = [one for one in font_manager.fontManager.ttflist if one.name.startswith("DejaVu")]
    made = [
        made_font(tmp_path / "a.ttf", "Han Only", "漢"),
        made_font(tmp_path / "b.ttf", "Hangul and Han", "한글漢"),
    ]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [*own, *made])


@pytest.mark.usefixtures("fonts")
@pytest.mark.parametrize(
    ("text", "families", "missing"),
    [
        ("Häuser, дом\n", ["DejaVu Sans"], []),
        ("한 漢", ["DejaVu Sans", "Hangul and Han"], []),
        ("漢 한 か", ["DejaVu Sans", "Hangul and Han"], ["か"]),
    ],
)
def test_fonts_that_have_the_characters(text: str, families: list[str], missing: list[str]) -> None:
    assert fonts_for(text) == (families, missing)


@pytest.mark.usefixtures("fonts")
def test_all_texts_of_a_picture_are_in_these_fonts(caplog: pytest.LogCaptureFixture) -> None:
    figure = Figure(figsize=(1, 1))
    figure.subplots().set_title("한")
    figure.suptitle("か")
    assert to_png(figure).startswith(b"\x89PNG")
    assert all("Hangul and Han" in one.get_fontfamily() for one in figure.findobj(Text))
    assert "no font on this machine has か (U+304B), drawn as boxes" in caplog.text
