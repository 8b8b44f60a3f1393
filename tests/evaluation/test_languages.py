import errno
import os
import sys
from collections.abc import Iterator

import pytest

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError, MissingExtraError, StorageError
from dragoman.evaluation import languages
from dragoman.evaluation.languages import (
    ExpectedLanguage,
    foreign_lines,
    identified,
    why_not_judged,
    wrong_language_share,
)
from dragoman.evaluation.metrics import EvaluationConfig, check_installed, score_corpus
from dragoman.evaluation.significance import SignificanceConfig, compare_systems

ENGLISH = [
    "Two young men are playing football in the park.",
    "A woman in a red coat reads the newspaper.",
    "The children are running towards the beach.",
    "Enter the password of your account.",
]
GERMAN = [
    "Zwei junge Männer spielen im Park Fußball.",
    "Eine Frau in einem roten Mantel liest die Zeitung.",
    "Die Kinder laufen zum Strand.",
    "Geben Sie das Passwort Ihres Kontos ein.",
]
CZECH = ["Dva mladí muži hrají v parku fotbal.", "Žena v červeném kabátě čte noviny."]
THREE = ["Tri deti sú v parku"]
SLOVAK = [
    "Ďakujeme vám, že ste dnes prišli, a budeme radi, ak sa sem čoskoro vrátite.",
    "Môžete ľahko zmeniť nastavenia svojho účtu, ak sa predtým prihlásite.",
]


@pytest.fixture
def identifier() -> None:
    pytest.importorskip("py3langid", reason="needs NumPy 2", exc_type=ImportError)


@pytest.fixture
def no_identifier(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if py3langid were not installed."""
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    languages._identifier.cache_clear()
    yield
    languages._identifier.cache_clear()


@pytest.mark.usefixtures("identifier")
@pytest.mark.parametrize("foreign", range(5))
@pytest.mark.parametrize("among", [(), ("en", "de"), ("de", "cs", "en", "no such language")])
def test_share_of_lines_in_another_language(foreign: int, among: tuple[str, ...]) -> None:
    text = GERMAN[foreign:] + ENGLISH[:foreign]
    # Lines without letters do not count.
    assert wrong_language_share([*text, "1984", "", "  ", "?!"], "de", among) == foreign / 4


@pytest.mark.usefixtures("identifier")
def test_only_the_candidates_are_chosen_from() -> None:
    assert wrong_language_share(SLOVAK, "cs") == 1
    assert wrong_language_share(SLOVAK, "cs", ["cs", "en"]) == 0
    assert wrong_language_share(SLOVAK, "cs", ["sk"]) == 1, "the declared one is always among them"
    assert wrong_language_share(CZECH, "cs", ["sk"]) == 0


@pytest.mark.usefixtures("identifier")
def test_a_text_counts_by_a_margin_and_a_translation_without() -> None:
    """A short line is often hardly likelier in a related language."""
    short = ["Muži v parku hrajú", "Kniha je na stole", "Deti hrajú futbal v parku.", *THREE]
    czech = ExpectedLanguage.of("cs", ["sk"])
    assert [czech.misses(line) for line in short] == [True] * 4
    assert wrong_language_share(short, "cs", ["sk"]) == 0.5


@pytest.mark.usefixtures("identifier")
@pytest.mark.parametrize(
    ("language", "lines"),
    [
        ("en", ["Initializing", "Tap water", "Status light"]),
        ("de", ["Farbmodus"]),
        ("ja", ["两个年轻人"]),
    ],
)
def test_lines_of_few_words_are_not_judged(language: str, lines: list[str]) -> None:
    """They are taken for another language at random, though they are in that which is declared."""
    expected = ExpectedLanguage.of(language)
    assert all(expected.misses(line, languages.CLEAR_MARGIN) for line in lines)
    assert wrong_language_share(lines, language) is None
    assert wrong_language_share([*lines, "两个年轻人在公园里踢足球。"], language) == 1


@pytest.mark.usefixtures("identifier")
def test_lines_in_another_language_are_shown_with_their_places() -> None:
    lines = [*GERMAN, "Tap water", *ENGLISH]
    found = foreign_lines([(f"line {n}", line) for n, line in enumerate(lines, 1)], "de")
    assert found is not None
    assert (found.share, found.found[0][0]) == (0.5, "line 6")
    assert found.examples == ", ".join(f"line {n} {lines[n - 1]!r}" for n in (6, 7, 8))


@pytest.mark.usefixtures("identifier")
def test_a_letter_that_says_nothing_is_in_no_other_language() -> None:
    assert ExpectedLanguage.of("de", ["en"]).misses("\u2c00") is False


@pytest.mark.usefixtures("identifier")
@pytest.mark.parametrize("name", ["de", "DE", "de-AT", "de_CH", "de-Latn-DE"])
def test_script_and_region_make_no_difference(name: str) -> None:
    assert wrong_language_share(GERMAN, name) == 0
    assert wrong_language_share(ENGLISH, name) == 1


@pytest.mark.usefixtures("identifier")
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nb", "Jeg vet ikke hva hun heter, men barna er hjemme i dag."),
        ("iw", "שני גברים צעירים משחקים כדורגל בפארק"),
        ("zh-Hans", "两个年轻人在公园里踢足球。"),
        ("cmn", "两个年轻人在公园里踢足球。"),
        ("zho_Hans", "两个年轻人在公园里踢足球。"),
        ("kor_Hang", "공원에서 두 청년이 축구를 하고 있다."),
        ("fil", "Naglalaro ng putbol ang dalawang binata sa parke."),
    ],
)
def test_codes_that_the_identifier_writes_otherwise(name: str, line: str) -> None:
    assert wrong_language_share([line], name) == 0
    assert wrong_language_share(ENGLISH, name) == 1


@pytest.mark.usefixtures("identifier")
def test_the_sample_is_bounded_and_from_all_over_the_text() -> None:
    read = 0

    def text() -> Iterator[str]:
        nonlocal read
        for _ in range(2000):
            read += 1
            yield ENGLISH[0]
        for _ in range(8000):
            read += 1
            yield GERMAN[0]

    # Judging is the slow part: count it.
    judged: list[str] = []
    expected = ExpectedLanguage.of("de")
    sample = languages._sample(("", line) for line in text())
    judged += [line for _, line in sample if expected.misses(line)]
    assert read == 10_000
    assert 2000 <= len(sample) < 4000
    assert len(judged) / len(sample) == pytest.approx(0.2, abs=0.001)


@pytest.mark.usefixtures("identifier")
@pytest.mark.parametrize(
    ("language", "among", "why"),
    [
        ("tlh", (), r"^language tlh: the identifier py3langid does not know it; it knows .*, de, "),
        ("zxx", (), "does not know it"),
        ("de", ("de-AT", "tlh"), "^language de: there is nothing .* among de-AT, tlh; name at"),
    ],
)
def test_what_cannot_be_judged(language: str, among: tuple[str, ...], why: str) -> None:
    assert wrong_language_share(GERMAN, language, among) is None
    with pytest.raises(ConfigError, match=why) as raised:
        ExpectedLanguage.of(language, among)
    assert why_not_judged(language, among) == str(raised.value)


@pytest.mark.usefixtures("identifier")
def test_text_without_letters_cannot_be_judged() -> None:
    assert why_not_judged("de") is None
    assert wrong_language_share(["1", "?", ""], "de") is None
    assert wrong_language_share([], "de") is None


@pytest.mark.usefixtures("no_identifier")
def test_without_the_identifier() -> None:
    assert wrong_language_share(GERMAN, "de") is None
    assert (why_not_judged("de") or "").startswith("py3langid is not installed; add it with: ")
    with pytest.raises(MissingExtraError, match=r"pip install 'py3langid>=0\.4'"):
        languages.check_identifier()


@pytest.mark.usefixtures("identifier")
def test_text_in_no_language_is_not_in_another() -> None:
    assert (
        ExpectedLanguage.of("de").misses("x86_64 AT89C51 0xFF5A http://127.0.0.1:80/?q=42") is False
    )


def rate_of(**values: object) -> EvaluationConfig:
    return parse(EvaluationConfig, {"metrics": ["wrong_language"], **values}, "here")


@pytest.mark.usefixtures("identifier")
@pytest.mark.parametrize("foreign", range(5))
def test_rate_of_translations_in_another_language(foreign: int) -> None:
    hypotheses = ["42", *ENGLISH[:foreign], *GERMAN[foreign:], ""]
    references = [""] * len(hypotheses)
    config = rate_of(language="de-AT", candidate_languages=["en", "cs", "cs-CZ"])
    (score,) = score_corpus(hypotheses, [references, references], config)
    assert score.value == 100 * foreign / 4, "references do not count, nor lines without letters"
    language, among, identifier, _ = score.signature.split("|")
    assert (language, among) == ("language:de", "among:cs+de+en")
    assert identifier.startswith("identifier:py3langid-")
    assert score.confidence is None


@pytest.mark.usefixtures("identifier")
def test_nothing_to_judge_is_nothing_wrong() -> None:
    (score,) = score_corpus(["", "1"], [["", ""]], rate_of(language="de"))
    assert score.value == 0
    assert "|among:all|" in f"|{score.signature}|"


@pytest.mark.usefixtures("identifier")
def test_its_interval_and_significance_are_those_of_any_metric() -> None:
    half, none = [*GERMAN, *ENGLISH] * 25, GERMAN * 50
    references = [[""] * 200]
    config = rate_of(language="de", candidate_languages=["en"], confidence_samples=300)
    (score,) = score_corpus(half, references, config)
    assert score.value == 50
    assert score.confidence is not None
    assert score.confidence.mean == pytest.approx(50, abs=1)
    # The normal approximation of a binomial share: 1.96 * sqrt(0.25 / 200).
    assert score.confidence.margin == pytest.approx(6.9, rel=0.2)
    assert "|bs:300|" in f"|{score.signature}|"
    for test in ("bootstrap", "randomization"):
        significance = parse(SignificanceConfig, {"test": test, "samples": 100}, "here")
        better, same = compare_systems(
            half, {"better": none, "same": half}, references, config, significance
        )
        assert better.difference == -50
        assert better.is_significant()
        assert same.p_value == 1


@pytest.mark.usefixtures("identifier")
def test_a_rate_needs_a_language_that_is_known() -> None:
    with pytest.raises(ConfigError, match="wrong_language: name the language"):
        score_corpus(["a"], [["a"]], rate_of())
    check_installed(rate_of())
    for check in (check_installed, lambda config: score_corpus(["a"], [["a"]], config)):
        with pytest.raises(ConfigError, match="tlh: the identifier py3langid does not know it"):
            check(rate_of(language="tlh"))


@pytest.mark.usefixtures("no_identifier")
@pytest.mark.parametrize("language", [None, "de"])
def test_a_rate_without_the_identifier(language: str | None) -> None:
    with pytest.raises(MissingExtraError, match="py3langid is not installed"):
        check_installed(rate_of(language=language))


@pytest.mark.usefixtures("identifier")
def test_languages_of_a_line_by_their_probability() -> None:
    found = identified("Das Licht in der Küche ist noch an.", ["en", "zh-Hans", "de"])
    assert found[0][0] == "de"
    assert sum(share for _, share in found) == pytest.approx(1)
    assert dict(found)["de"] > 0.9
    assert identified("打开厨房的灯", ["en", "zh-Hans", "de"])[0][0] == "zh-Hans"
    assert identified("Das Licht in der Küche ist noch an.")[0][0] == "de"


@pytest.mark.usefixtures("identifier")
@pytest.mark.parametrize(
    ("among", "message"),
    [(["de", "xx"], "does not know it"), (["zh-Hans", "zh-TW"], "cannot tell it from zh-Hans")],
)
def test_languages_that_cannot_be_told_apart(among: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        identified("a", among)


@pytest.mark.usefixtures("identifier")
def test_no_room_to_unpack_the_identifier_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from py3langid.langid import LanguageIdentifier

    def full(file: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(LanguageIdentifier, "from_model_file", full)
    languages._identifier.cache_clear()
    with pytest.raises(StorageError, match="the disk is full"):
        wrong_language_share(ENGLISH, "en")
    languages._identifier.cache_clear()


def test_characters_that_nobody_sees_make_no_difference() -> None:
    line = "Das Haus ist klein."
    hidden = "\u00ad".join(line) + "\u200e\u200b"
    assert identified(hidden) == identified(line)
    assert ExpectedLanguage.of("de").misses(hidden) is False
