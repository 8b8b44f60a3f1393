"""Languages in the paths of files."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.formats.projects.language_places import (
    LANGUAGE,
    android_places,
    apple_places,
    files_below,
    fitting_language,
    language_places,
    most_shared,
    usual_spelling,
)

LANGUAGES = ["de", "fr", "pt_BR", "zh_Hans", "sr@latin", "es_419", "ko"]


def readings(*names: str) -> list[tuple[Path, list[tuple[str, str]]]]:
    return [(Path(name), list(language_places(PurePosixPath(name)))) for name in names]


@pytest.mark.parametrize(
    ("path", "template", "language"),
    [
        ("locale/de/LC_MESSAGES/app.po", "locale/{language}/LC_MESSAGES/app.po", "de"),
        ("po/pt_BR.po", "po/{language}.po", "pt_BR"),
        ("po/sr@latin.po", "po/{language}.po", "sr@latin"),
        ("lib/l10n/app_pt_BR.arb", "lib/l10n/app_{language}.arb", "pt_BR"),
        ("config/locales/devise.zh-Hans.yml", "config/locales/devise.{language}.yml", "zh-Hans"),
        ("_locales/de/messages.json", "_locales/{language}/messages.json", "de"),
        ("plugin-de_DE.po", "plugin-{language}.po", "de_DE"),
        ("po/de/LC_MESSAGES/sc.po", "po/{language}/LC_MESSAGES/sc.po", "de"),
        ("po/de/LC_MESSAGES/is/as.po", "po/{language}/LC_MESSAGES/is/as.po", "de"),
        ("LC_MESSAGES/de.po", "LC_MESSAGES/{language}.po", "de"),
    ],
)
def test_one_place(path: str, template: str, language: str) -> None:
    assert list(language_places(PurePosixPath(path))) == [(template, language)]


def test_platforms_have_their_own() -> None:
    def android(path: str) -> list[tuple[str, str]]:
        return list(android_places(PurePosixPath(path)))

    template = "res/values{language}/strings.xml"
    assert android("res/values-pt-rBR/strings.xml") == [(template, "pt-BR")]
    assert android("res/values-b+sr+Latn/strings.xml") == [(template, "sr-Latn")]
    assert android("res/values/strings.xml") == [(template, "")]
    assert android("res/values-night/strings.xml") == []
    assert android("res/layout/main.xml") == []
    main = "{language}.lproj/Main.strings"
    assert list(apple_places(PurePosixPath("de.lproj/Main.strings"))) == [(main, "de")]
    assert list(apple_places(PurePosixPath("Base.lproj/Main.strings"))) == [(main, "")]
    assert list(apple_places(PurePosixPath("Other/Main.strings"))) == []


@given(
    st.sampled_from(
        [f"a/{LANGUAGE}/x.po", f"{LANGUAGE}.po", f"b/y_{LANGUAGE}.json", f"{LANGUAGE}/as"]
    ),
    st.lists(st.sampled_from(LANGUAGES), min_size=2, unique=True),
)
def test_languages_are_read_back(template: str, languages: list[str]) -> None:
    paths = {language: template.replace(LANGUAGE, language) for language in languages}
    placing = most_shared(
        (Path(path), list(language_places(PurePosixPath(path)))) for path in paths.values()
    )
    assert placing == {template: {one: Path(path) for one, path in paths.items()}}


def test_the_place_that_most_languages_share() -> None:
    """``as`` is also a code, of Assamese, and ``or`` of Odia."""
    names = ["or/de/as.po", "or/fr/as.po"]
    placing = most_shared(
        (Path(name), list(language_places(PurePosixPath(name)))) for name in names
    )
    assert placing == {"or/{language}/as.po": {"de": Path(names[0]), "fr": Path(names[1])}}


@pytest.mark.parametrize(
    ("names", "languages"),
    [
        # modules called sc (Sardinian), sd (Sindhi) and sw (Swahili), and others
        (
            [
                f"i18n/{one}/{name}.json"
                for one in ("de", "ko")
                for name in ("sc", "sd", "sw", *"abcd")
            ],
            {"de", "ko"},
        ),
        (["my/de.json", "my/en.json", "my/a.json", "my/b.json", "my/c.json"], {"de", "en", "my"}),
        (["my/de.json", "my/a.json"], {"de", "my"}),
        (["io/app/de.json", "io/app/fr.json", "ui/app/de.json", "ui/app/fr.json"], {"de", "fr"}),
    ],
)
def test_neighbours_without_a_language(names: list[str], languages: set[str]) -> None:
    placing = most_shared(
        (Path(name), list(language_places(PurePosixPath(name)))) for name in names
    )
    assert {language for files in placing.values() for language in files} == languages


@pytest.mark.parametrize(
    ("wanted", "offered", "found"),
    [
        ("de", ["de", "de_AT"], "de"),
        ("de", ["de_AT"], "de_AT"),
        ("pt", ["pt_BR", "pt_PT"], None),
        ("pt-BR", ["pt_BR", "pt"], "pt_BR"),
        ("pt_BR", ["pt"], None),
        ("deu", ["de"], "de"),
        ("sr_Latn", ["sr", "sr@latin"], "sr@latin"),
        ("ca", ["ca@valencia"], "ca@valencia"),
        ("fr", ["", "de"], None),
    ],
)
def test_the_fitting_language(wanted: str, offered: list[str], found: str | None) -> None:
    assert fitting_language(wanted, offered) == found


@given(st.sampled_from(LANGUAGES))
def test_a_language_fits_itself(language: str) -> None:
    assert fitting_language(language, LANGUAGES) == language
    assert fitting_language(usual_spelling(language), LANGUAGES) == language


def test_files_below(tmp_path: Path) -> None:
    for name in ("b/a.po", "a/b.PO", ".git/c.po", "node_modules/d.po", "e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert files_below(tmp_path, (".po",)) == [tmp_path / "a/b.PO", tmp_path / "b/a.po"]
    assert tmp_path / "e.txt" in files_below(tmp_path, ())
    assert files_below(tmp_path / "e.txt", (".po",)) == [tmp_path / "e.txt"]
