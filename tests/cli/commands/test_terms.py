"""The commands about terms: finding them, and the rate at which translations use them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from command_line import CommandLine, one_error
from project_trees import catalogue, write_tree
from tiny_model import TINY_LM, save_tiny_model

from dragoman.cli.main import run
from dragoman.text.terms.glossary import Glossary
from dragoman.text.vocabularies.piece_spans import Span
from dragoman.text.word_alignment import Aligned
from dragoman.translation import aligning
from dragoman.translation.translator import Translator

PAIRS = [
    ("Restart the access point now", "Starten Sie den Zugangspunkt jetzt neu"),
    ("The access point is offline", "Der Zugangspunkt ist offline"),
    ("Name of the access point", "Name des Zugangspunkts"),
    ("Remove the device", "Entfernen Sie das Gerät"),
    ("Name of the device", "Name des Geräts"),
    ("The device is offline", "Das Gerät ist offline"),
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = ["en\tde"]
    for number in "abcdef":  # duplicates are left out
        lines += [f"{source} ({number})\t{target} ({number})" for source, target in PAIRS]
    path = tmp_path / "corpus.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_glossary_is_found_that_translation_reads(
    corpus: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    output, details = tmp_path / "new" / "terms.tsv", tmp_path / "details.tsv"
    outcome = dragoman("terms", corpus, "--output", output, "--details", details)
    assert outcome.code == 0 and outcome.out == ""
    assert "terms from 36 pairs; 1 of them are translated inconsistently" in outcome.err
    found = {term.source: term.targets for term in Glossary.read(output).terms}
    assert found["access point"] == ("Zugangspunkt", "Zugangspunkts")
    assert found["device"] == ("Gerät", "Geräts")
    header, *rows = [line.split("\t") for line in details.read_text("utf-8").splitlines()]
    assert header[:3] == ["source", "target", "count"]
    assert {row[0]: row[2] for row in rows}["device"] == "18"
    printed = dragoman("terms", corpus, "--quiet")
    assert printed.out == output.read_text("utf-8") and printed.err == ""


def test_terms_of_a_project(dragoman: CommandLine, tmp_path: Path) -> None:
    """Its folder is no MODEL, even before other files."""
    strings = {f"{s} ({n})": f"{t} ({n})" for n in "abcdef" for s, t in PAIRS}
    folder = write_tree(tmp_path, {"locale/de/LC_MESSAGES/app.po": catalogue(strings)})
    more = write_tree(tmp_path / "more", {"po/de.po": catalogue({"One more": "Noch eins"})})
    for files, pairs in (([folder / "locale"], 36), ([folder / "locale", more], 37)):
        outcome = dragoman("terms", *files, "--source", "en", "--target", "de")
        assert outcome.code == 0, outcome.err
        assert f"from {pairs} pairs" in outcome.err
        assert "access point\tZugangspunkt" in outcome.out


def test_a_glossary_is_utf_8_whatever_the_encoding_of_the_terminal(
    corpus: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = dragoman("terms", corpus).out
    assert "Gerät" in expected
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(["terms", str(corpus)]) == 0
    assert stream.detach().getvalue() == expected.encode()


def test_everything_is_there_as_json(corpus: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    known = tmp_path / "known.tsv"
    known.write_text("Device\tApparat\n", encoding="utf-8")
    stops = tmp_path / "stops.txt"
    stops.write_text("the\nof\nis\noffline\n", encoding="utf-8")
    outcome = dragoman(
        *("terms", corpus, "--json", "--except", known, "--stop-words", stops),
        *("--minimum-count", 10),
    )
    found = json.loads(outcome.out)
    assert (found["pairs"], found["pairs_left_out"], found["output"]) == (36, 0, None)
    terms = {term["source"]: term for term in found["terms"]}
    assert "device" not in terms and "offline" not in terms
    assert terms["access point"]["count"] == 18
    assert terms["access point"]["renderings"][0]["forms"] == ["Zugangspunkt", "Zugangspunkts"]


def test_stop_words_are_compared_as_the_text_is_normalised(
    tmp_path: Path, dragoman: CommandLine
) -> None:
    """However an accent is encoded, and whatever follows the word in its line."""
    corpus, stops = tmp_path / "corpus.tsv", tmp_path / "stops.txt"
    pairs = [("château", "castle"), ("forêt", "forest")]
    rows = [f"{source} ({n})\t{target} ({n})" for n in range(9) for source, target in pairs]
    corpus.write_text("\n".join(["fr\ten", *rows]) + "\n", encoding="utf-8")
    stops.write_text("Cha\u0302teau \n", encoding="utf-8")
    arguments = ("terms", corpus, "--json", "--source", "fr", "--target", "en")
    found = [
        {term["source"] for term in json.loads(dragoman(*arguments, *more).out)["terms"]}
        for more in ([], ["--stop-words", stops])
    ]
    assert found == [{"château", "forêt"}, {"forêt"}]


def test_the_attention_of_a_model_decides_what_translates_a_term(
    corpus: Path, tmp_path: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted, and wrong: without the model, the device is no article."""

    def planted(
        translator: Translator,
        lines: Sequence[tuple[str, str]],
        places: Sequence[tuple[Sequence[Span], Sequence[Span]]],
        progress: Callable[[int], object],
    ) -> Iterator[Aligned]:
        for line, spans in zip(lines, places, strict=True):
            source, target = (
                [text[start:end].casefold() for start, end in one]
                for text, one in zip(line, spans, strict=True)
            )
            links = {
                (source.index("device"), number)
                for number, word in enumerate(target)
                if "device" in source and word in {"das", "des"}
            }
            yield Aligned(frozenset(links), frozenset(links))
        progress(len(lines))

    monkeypatch.setattr(aligning, "attention_links", planted)
    model = save_tiny_model(tmp_path / "model")
    single = ("--maximum-words", 1)
    outcome = dragoman("terms", model, corpus, *single)
    assert outcome.code == 0, outcome.err
    assert "terms from 36 pairs" in outcome.err
    assert outcome.out.splitlines() == ["source\ttarget", "device\tdas"]
    assert "device\tdas" not in dragoman("terms", corpus, *single).out


def test_models_that_align_nothing(corpus: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    model = save_tiny_model(tmp_path / "model")
    outcome = dragoman("terms", model, corpus, "--json", "--minimum-count", 2)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["pairs"] == 36
    language_model = save_tiny_model(tmp_path / "lm", config=TINY_LM)
    assert "no attention over the source" in one_error(dragoman("terms", language_model, corpus), 2)
    assert "does not translate into" in one_error(dragoman("terms", model, corpus, "--to", "fr"), 2)


def test_pairs_that_are_too_long_for_a_model_are_left_out(
    corpus: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    with corpus.open("a", encoding="utf-8") as stream:
        stream.write("device {0}\tGerät {0}\n".format("a b c d e " * 25))
    limited = save_tiny_model(tmp_path / "limited", max_source_pieces=120)
    for model, left_out in ((limited, 1), (save_tiny_model(tmp_path / "model"), 0)):
        outcome = dragoman("terms", model, corpus, "--json")
        assert outcome.code == 0, outcome.err
        found = json.loads(outcome.out)
        assert (found["pairs"], found["pairs_left_out"]) == (37 - left_out, left_out)


def test_bad_input(corpus: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    assert "no such file" in one_error(dragoman("terms", tmp_path / "none.tsv"), 3)
    assert "--to is of a MODEL" in one_error(dragoman("terms", corpus, "--to", "de"), 2)
    for option in ("--output", "--details"):
        refused = one_error(dragoman("terms", corpus, option, corpus), 2)
        assert f"{option} {corpus}: this is an input" in refused
    output, link = tmp_path / "out.tsv", tmp_path / "link.tsv"
    link.symlink_to(output)
    for details in (output, link):
        both = dragoman("terms", corpus, "--output", output, "--details", details)
        assert f"--details {details}: this is the --output" in one_error(both, 2)
        assert not output.exists()
    empty = tmp_path / "empty.tsv"
    empty.write_text("en\tde\n\t\n", encoding="utf-8")
    assert "no pair is left" in one_error(dragoman("terms", empty), 3)
    broken = tmp_path / "broken.tsv"
    broken.write_text("one column\n", encoding="utf-8")
    assert "broken.tsv:1" in one_error(dragoman("terms", corpus, "--except", broken), 3)


def test_the_rate_of_terms_in_tbx_needs_their_languages(
    tmp_path: Path, dragoman: CommandLine
) -> None:
    glossary, text = tmp_path / "terms.tbx", tmp_path / "text"
    entry = "<conceptEntry>{}</conceptEntry>".format(
        "".join(
            f'<langSec xml:lang="{language}"><termSec><term>{term}</term></termSec></langSec>'
            for language, term in (("en", "device"), ("de", "Gerät"), ("fr", "appareil"))
        )
    )
    glossary.write_text(f"<tbx><text><body>{entry}</body></text></tbx>", encoding="utf-8")
    text.write_text("the device\n", encoding="utf-8")
    (tmp_path / "new").write_text("das Gerät\n", encoding="utf-8")
    asked = ("evaluate", tmp_path / "new", tmp_path / "new", "--source", text, "--metric", "terms")
    for named in ((), ("--from", "en")):
        line = one_error(dragoman(*asked, "--glossary", glossary, *named), 2)
        assert "terms.tbx: TBX may have terms in many languages" in line
        assert "--from en --to de" in line
    for language, rate in (("de", 100), ("fr", 0)):
        languages = ("--from", "en", "--to", language, "--json")
        (score,) = json.loads(dragoman(*asked, "--glossary", glossary, *languages).out)["scores"]
        assert score["value"] == rate


def test_languages_of_a_glossary_are_read_from_its_header_or_named(
    tmp_path: Path, dragoman: CommandLine
) -> None:
    """``es`` is a word, too, and would have to become ``en``."""
    glossary, text, new = (tmp_path / name for name in ("terms.tsv", "text", "new"))
    glossary.write_text("es\ten\ncasa\thouse\n", encoding="utf-8")
    text.write_text("es una casa\n", encoding="utf-8")
    new.write_text("it is a house\n", encoding="utf-8")
    counted = ("--source", text, "--metric", "terms", "--json")
    asked = ("evaluate", new, new, *counted, "--glossary", glossary)
    for named in ((), ("--from", "es", "--to", "en")):
        (score,) = json.loads(dragoman(*asked, *named).out)["scores"]
        assert score["value"] == 100
    assert "into the first column" in one_error(dragoman(*asked, "--from", "en", "--to", "es"), 3)
    assert "say the languages of --glossary" in one_error(dragoman(*asked, "--to", "en"), 2)


def test_the_rate_of_terms_is_reported(tmp_path: Path, dragoman: CommandLine) -> None:
    texts = {
        "source": "the device {x}\na device\nno term 5\n",
        "hypothesis": "das Gerät {x}\nein Apparat\nnichts 5\n",
        "reference": "das Gerät {x}\nein Gerät\nnichts 5\n",
        "terms.tsv": "device\tGerät|Geräts\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = (tmp_path / "hypothesis", tmp_path / "reference")
    source = ("--source", tmp_path / "source", "--glossary", tmp_path / "terms.tsv")
    outcome = dragoman(
        *("evaluate", *files, *source, "--metric", "placeholders", "--metric", "numbers"),
        *("--json", "--confidence", 20, "--baseline", tmp_path / "reference"),
    )
    found = {score["name"]: score["value"] for score in json.loads(outcome.out)["scores"]}
    assert found == {"placeholders": 100, "numbers": 100, "terms": 50}
    assert len(json.loads(outcome.out)["comparisons"]) == 3
    assert "needs --glossary" in one_error(
        dragoman("evaluate", *files, *source[:2], "--metric", "terms"), 2
    )
    assert "add --source" in one_error(dragoman("evaluate", *files, *source[2:]), 2)
    assert "--source is read by" in one_error(dragoman("evaluate", *files, *source[:2]), 2)
