from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import MissingExtraError, StorageError
from dragoman.translation.service import detecting
from dragoman.translation.service.detecting import LanguageDetector, likeliest_source
from dragoman.translation.service.interface import RefusedError
from dragoman.translation.service.translated_text import Detection

GERMAN = "Das ist ein schönes Haus."
ENGLISH = "This is a beautiful house."


def ranked(**probabilities: float) -> list[Detection]:
    return [Detection(*one) for one in probabilities.items()]


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        (ranked(en=0.6, de=0.4), "en"),
        (ranked(de=0.7, en=0.3), "en"),  # perhaps "Name"
        (ranked(de=0.95, en=0.05), "de"),
        (ranked(fr=0.5, de=0.3, en=0.2), "fr"),
        (ranked(de=0.5), "de"),
    ],
)
def test_what_may_be_a_source_is_one_unless_the_text_is_translated_already(
    found: list[Detection], chosen: str
) -> None:
    assert likeliest_source(found, "de").language == chosen


def test_only_what_can_be_translated_into_the_target_is_a_source() -> None:
    pytest.importorskip("py3langid")
    detector = LanguageDetector(["en", "de"], ["fr"])
    (found,) = detector.judge([ENGLISH], "fr", ["de", "en"])
    assert found.language == "en"
    (found,) = detector.judge([ENGLISH], "fr", ["de"])
    assert found.language != "en"


def test_a_text_may_be_in_a_language_that_is_only_written() -> None:
    pytest.importorskip("py3langid")
    detector = LanguageDetector(["en"], ["de"])
    assert [found[0].language for found in detector.detect([GERMAN, ENGLISH])] == ["de", "en"]
    assert detector.detect([" "]) == [[]]
    judged = {text: detector.judge([text], "de", ["en"])[0] for text in (GERMAN, "Name", "123")}
    assert {text: one.language for text, one in judged.items()} == {
        GERMAN: "de",
        "Name": "en",
        "123": "en",
    }
    assert judged[GERMAN].probability > 0.9


SENTENCES = {
    "Die Tür klemmt.": "de",
    "Wir essen heute Suppe.": "de",
    "The door is stuck.": "en",
    "Where are you?": "en",
    "La porte est fermée.": "fr",
    "Merci beaucoup !": "fr",
    "¿Dónde está la llave?": "es",
    "Buenos días.": "es",
}
LANGUAGES = ["en", "de", "es", "fr"]


@given(st.lists(st.sampled_from([*SENTENCES]), min_size=1, max_size=12), st.sampled_from(LANGUAGES))
def test_each_text_of_a_list_is_detected_as_if_it_had_come_alone(
    texts: list[str], target: str
) -> None:
    pytest.importorskip("py3langid")
    detector = LanguageDetector(LANGUAGES, LANGUAGES)
    judged = detector.judge(texts, target, LANGUAGES)
    assert [one.language for one in judged] == [SENTENCES[text] for text in texts]
    assert judged == [detector.judge([text], target, LANGUAGES)[0] for text in texts]


def test_a_doubtful_text_leans_on_its_neighbours() -> None:
    pytest.importorskip("py3langid")
    detector = LanguageDetector(["en", "fr", "de"], ["de"])

    def judged(*texts: str) -> list[str]:
        return [one.language for one in detector.judge(texts, "de", ["en", "fr"])]

    french, english = "Merci beaucoup !", "Where are you?"
    assert judged("test") == ["en"]  # the first of the sources
    assert judged("test", french) == ["fr", "fr"]
    assert judged("12", french, "OK") == ["fr"] * 3
    assert judged(english, "test", french, english) == ["en", "en", "fr", "en"]
    # Even a hundred neighbours do not outvote a text that leaves no doubt.
    assert judged(french, *[english] * 100)[0] == "fr"
    # Words that are doubtful one by one are likelier all in one language.
    words = ["File", "Copy", "Paste", "Print", "Name", "Zoom", "Help", "Tools", "Window", "Undo"]
    assert judged(*words) == ["en"] * 10


def test_what_cannot_be_detected_is_refused() -> None:
    pytest.importorskip("py3langid")
    with pytest.raises(RefusedError, match="texts in xx, de cannot be detected; name the lang"):
        LanguageDetector(["xx"], ["de"]).detect([GERMAN])
    detector = LanguageDetector(["en", "xx"], ["fr", "de"])
    with pytest.raises(RefusedError, match="texts in xx cannot be detected") as caught:
        detector.judge([GERMAN], "de", ["xx"])
    assert caught.value.kind == "unsupported"
    # A target that the detector does not know is not in its way.
    (found,) = LanguageDetector(["en"], ["xx"]).judge([GERMAN], "xx", ["en"])
    assert found == ("en", 1.0)


def test_a_full_directory_for_temporary_files_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise StorageError("cannot write /srv/tmp: the disk is full")

    detector = LanguageDetector(["en"], ["de"])
    with monkeypatch.context() as patch:
        patch.setattr(detecting, "identified", full)
        with pytest.raises(RefusedError, match="no room for temporary files; name that") as caught:
            detector.judge([ENGLISH], "de", ["en"])
    assert caught.value.kind == "unsupported" and "/srv" not in str(caught.value)
    assert "/srv/tmp" in caplog.text
    pytest.importorskip("py3langid")
    assert detector.judge([ENGLISH], "de", ["en"])[0].language == "en"  # there is room again


def test_whoever_asks_does_not_read_where_the_server_is_installed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing(*_: object) -> None:
        raise MissingExtraError(f"not installed; add it with {sys.executable}")

    monkeypatch.setattr(detecting, "identified", missing)
    LanguageDetector(["en"], ["de"]).prepare()  # whoever names languages is served all the same
    with pytest.raises(RefusedError, match="languages are not detected here") as caught:
        LanguageDetector(["en"], ["de"]).detect([ENGLISH])
    assert sys.executable not in str(caught.value)
    assert sys.executable in caplog.text
