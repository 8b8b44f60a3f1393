"""Glossaries from the text to its translation."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from listed_pieces import listed
from parser_model import save_parser
from tiny_model import TINY_LM, save_tiny_model

from dragoman.core.errors import ConfigError, DataError, UsageError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import build_model, load_model, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system import TranslationSystem
from dragoman.search import SearchConfig
from dragoman.search.phrases import Phrase
from dragoman.text.terms.glossary import Glossary
from dragoman.text.terms.line_demands import LineDemands
from dragoman.text.terms.terminology import LexicalConstraint, Terminology, missing
from dragoman.text.vocabularies import Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation import building
from dragoman.translation.engines.engine import SourceBatch
from dragoman.translation.engines.term_search import PhraseSpeller
from dragoman.translation.service.unit_translation import CarriedGlossary
from dragoman.translation.terms import check_lengths
from dragoman.translation.translator import Translator

torch.set_num_threads(1)

SOURCES = ["turn the old house on", "a new house (old)", "house {name} off 100%", "the river"] * 9
TARGETS = [
    "das alte Haus anschalten",
    "ein neues Haus (altes)",
    "Haus {name} aus 100%",
    "der Fluss im Häuserwald",
] * 9
LINES = ["turn the house on", "the river", "", "a new old house {name}", "the river off"]
GLOSSARY = {"house": ["Haus", "Häuser"], "river": "Fluss", "old": "altes", "on": "an"}
SEARCH = {"extra_length": 12, "length_penalty": 0.6}


@cache
def parts() -> tuple[SavedConfig, Vocabularies]:
    vocabularies = train_vocabularies(
        zip(SOURCES, TARGETS, strict=True), VocabularyConfig(size=75), seed=1
    )
    model = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)
    return SavedConfig(model=model, search=SEARCH), vocabularies


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model of German; it says nothing of use without a glossary."""
    config, vocabularies = parts()
    torch.manual_seed(3)
    model = build_model(config.model, vocabularies)
    directory = tmp_path_factory.mktemp("glossary") / "model"
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    save_model(directory, config, vocabularies, weights)
    return directory


@pytest.fixture(scope="module")
def translator(saved: Path) -> Translator:
    return Translator.load(saved)


def lacking(lines: Sequence[str], texts: Sequence[str], terms: Terminology) -> list[str]:
    pairs = zip(lines, texts, strict=True)
    return [one.name for line, text in pairs for one in missing(terms.constraints(line), text)]


def test_spellings_in_every_place() -> None:
    speller = PhraseSpeller(parts()[1].target)
    vocabulary = parts()[1].target

    def spelled(text: str, *, whole: bool = True) -> list[tuple[str, bool, bool]]:
        return [
            ("".join(vocabulary.pieces(one.ids)), one.after_word, one.within_word)
            for one in speller.phrase(LexicalConstraint((text,), whole=whole))
        ]

    assert spelled("Haus") == [("▁Haus", True, False), ("Haus", False, False)]
    assert spelled("{name}") == [("▁{name}", True, True), ("{name}", True, True)]
    assert spelled("Haus", whole=False) == [("▁Haus", True, True), ("Haus", True, True)]
    assert spelled("日本") == []  # no such pieces
    ends, continues = speller.edges
    pieces = vocabulary.pieces(range(len(vocabulary)))
    assert ends[pieces.index("s")] and continues[pieces.index("s")]
    assert not continues[pieces.index("▁H")] and not ends[pieces.index("▁(")]


def test_a_korean_particle_does_not_spoil_a_name() -> None:
    config = VocabularyConfig(size=11)
    (vocabulary, _) = train_vocabularies([("a를 b", "를a b")] * 9, config, seed=1)
    ends, continues = PhraseSpeller(vocabulary).edges
    particle, letter = vocabulary.ids(["를", "a"])
    assert ends[particle] and not continues[particle]
    assert ends[letter] and continues[letter]


def test_the_lengths_of_a_glossary_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    speller, glossary = PhraseSpeller(parts()[1].target), Glossary.of({"house": "Haus"})
    asked: list[LexicalConstraint] = []
    spelled = speller.phrase

    def phrase(constraint: LexicalConstraint) -> Phrase:
        asked.append(constraint)
        return spelled(constraint)

    monkeypatch.setattr(speller, "phrase", phrase)
    for limit, times in ((30, 1), (30, 1), (29, 2), (30, 2)):
        check_lengths(Terminology((glossary,)), speller, limit)
        assert len(asked) == times
    carrying = CarriedGlossary(glossary, {"a": "house"})
    check_lengths(Terminology((carrying,)), speller, 30)
    assert len(asked) == 2, "it has the terms of the other"
    for _ in range(2):  # what does not fit is told each time
        with pytest.raises(DataError, match=r"has \d pieces?, and a translation at most 0"):
            check_lengths(Terminology((glossary,)), speller, 0)


@pytest.mark.parametrize("knew", [False, True])
def test_another_thread_may_forget_what_is_remembered_at_any_time(
    knew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Forgetful(dict[LexicalConstraint, Phrase]):
        """Cleared whenever something was stored or, if it knew the phrase, looked for."""

        def __setitem__(self, key: LexicalConstraint, value: Phrase) -> None:
            pass

        def __contains__(self, key: object) -> bool:
            return knew

    speller = PhraseSpeller(parts()[1].target)
    house = LexicalConstraint(("Haus",))
    wanted = speller.phrase(house)
    monkeypatch.setattr(speller, "_known", Forgetful())
    assert speller.phrase(house) == wanted


def test_every_term_is_there(translator: Translator) -> None:
    terms = Terminology([Glossary.of(GLOSSARY)])
    plain = translator.translate(LINES)
    assert len(lacking(LINES, plain, terms)) > 3, "the model would say them anyway"
    found = translator.translate_nbest(LINES, glossary=GLOSSARY)
    texts = [one.text for one, *_ in found]
    assert lacking(LINES, texts, terms) == []
    assert [one.missing for one, *_ in found] == [(), (), None, (), ()]
    assert texts[2] == ""


def test_what_has_its_terms_stays_as_it_is(translator: Translator) -> None:
    plain = translator.translate_nbest(LINES)
    already = {"river": plain[1][0].text.split()[0]}
    found = translator.translate_nbest(LINES, glossary=already)
    assert [one.text for one, *_ in found[:2]] == [one.text for one, *_ in plain[:2]]
    assert found[0][0].score == plain[0][0].score
    # With several wanted, all of them have the terms.
    several = translator.translate_nbest(LINES, glossary=GLOSSARY, nbest=3)
    assert all(one.missing in {(), None} for line in several for one in line)
    assert max(map(len, several)) == 3


@pytest.mark.parametrize("beam", [1, 5])
def test_neither_batches_nor_order_matter(translator: Translator, beam: int) -> None:
    together = translator.translate(LINES, glossary=GLOSSARY, beam=beam)
    reverse = translator.translate(LINES[::-1], glossary=GLOSSARY, beam=beam, batch_tokens=1)
    assert reverse[::-1] == together
    at_once = translator.stream(LINES, glossary=GLOSSARY, beam=beam, buffer_lines=1)
    assert list(at_once) == together


def test_a_worker_has_them_too(
    translator: Translator, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another process gets and does, in this one."""
    monkeypatch.setattr(building, "_engine", None)
    building._begin(TranslationSystem(models=(saved,)))
    (source,) = translator.vocabularies.source.encode_batch(LINES[:1])
    constraints = Terminology([Glossary.of(GLOSSARY)]).constraints(LINES[0])
    task = (SourceBatch([0], [source], None, [LineDemands(constraints)]), translator.search)
    _, (found,) = building._search(pickle.loads(pickle.dumps(task)))
    (expected,) = translator.translate(LINES[:1], glossary=GLOSSARY)
    assert translator.vocabularies.target.decode(found[0].ids) == expected


def test_an_ensemble_has_them_too(saved: Path) -> None:
    terms = Terminology([Glossary.of(GLOSSARY)])
    ensemble = Translator.load(saved, saved)
    assert lacking(LINES, ensemble.translate(LINES, glossary=GLOSSARY), terms) == []


def test_a_prefix_stays_in_front(translator: Translator) -> None:
    (found,) = translator.translate(["the house"], glossary=GLOSSARY, prefix="Fluss")
    assert found.startswith("Fluss")
    assert "Haus" in found or "Häuser" in found
    # What the prefix says already need not be said again.
    plain = translator.translate(["the river"], prefix="der Fluss im")
    assert translator.translate(["the river"], glossary=GLOSSARY, prefix="der Fluss im") == plain


def test_what_cannot_be_met_is_named(
    translator: Translator, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        found = translator.translate_nbest(
            ["the house", "the river"],
            glossary={"house": "家", "river": "Fluss im Haus"},
            maximum_length=9,
        )
    assert found[0][0].missing == ("家",)
    assert "line 1: the translation lacks '家' (the target vocabulary lacks" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        (one,) = translator.translate_nbest(
            ["house river old on house river old on"], glossary=GLOSSARY, maximum_length=8
        )
    assert one[0].missing
    assert caplog.text.count("line 1: the translation lacks") == 1


def test_a_term_longer_than_any_output_is_refused(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("house\tHaus\nriver\tFluss im alten neuen Haus\n", encoding="utf-8")
    with (
        Translator.load(saved, terms={"glossary": path}) as translator,
        pytest.raises(DataError, match=r"terms\.tsv:2: .* pieces, and a translation at most 6"),
    ):
        translator.translate(["a"], maximum_length=6)


TBX = """<tbx><text><body><conceptEntry>
<langSec xml:lang="en"><termSec><term>river</term></termSec></langSec>
<langSec xml:lang="de"><termSec><term>Fluss</term></termSec></langSec>
</conceptEntry></body></text></tbx>
"""


@pytest.mark.parametrize("content", ["en\tde\nriver\tFluss\n", TBX], ids=["table", "tbx"])
def test_a_file_of_a_call_is_in_the_languages_of_the_system(
    saved: Path, tmp_path: Path, content: str
) -> None:
    path = tmp_path / ("terms.tbx" if content is TBX else "terms.tsv")
    path.write_text(content, encoding="utf-8")
    languages = {"source_language": "en", "target_language": "de"}
    config, vocabularies = parts()
    named = config.model_copy(update=languages)
    model = load_model(saved, "cpu").model
    weights = {name: tensor.detach() for name, tensor in model.named_parameters()}
    save_model(tmp_path / "model", named, vocabularies, weights)
    with Translator.load(tmp_path / "model") as translator:
        (found,) = translator.translate(["the river de en"], glossary=path)
        assert "Fluss" in found
        with pytest.raises(DataError, match=r"the columns are fr and de, but the languages are en"):
            wrong = tmp_path / "wrong.tsv"
            wrong.write_text("fr\tde\nfleuve\tFluss\n", encoding="utf-8")
            translator.translate(["the river"], glossary=wrong)
        if path.suffix == ".tbx":
            with pytest.raises(DataError, match="name the source and the target language"):
                translator.tagged(()).translate(["the river"], glossary=path)
    with pytest.raises(DataError, match="name the source and the target language"):
        tbx = tmp_path / "other.tbx"
        tbx.write_text(TBX, encoding="utf-8")
        Translator.load(saved).translate(["the river"], glossary=tbx)  # its languages have no names


def test_a_term_may_have_all_positions_but_that_of_the_begin_symbol() -> None:
    config, vocabularies = parts()
    term = "Fluss im alten neuen Haus"
    spellings = PhraseSpeller(vocabularies.target).phrase(LexicalConstraint((term,)))
    pieces = min(len(one.ids) for one in spellings)

    def translated(positions: int) -> list[str]:
        values = {"positions": "learned", "max_positions": positions}
        model = build_model(config.model.model_copy(update=values), vocabularies).eval()
        translator = Translator([model], vocabularies, SearchConfig(extra_length=12))
        return translator.translate(["a"], glossary={"river": term})

    assert len(translated(pieces + 1)) == 1
    with pytest.raises(DataError, match=f"{pieces} pieces, .* at most {pieces - 1};"):
        translated(pieces)


def test_what_is_described(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("house\tHaus\n", encoding="utf-8")
    (tmp_path / "keep.txt").write_text("river\n", encoding="utf-8")
    terms = {
        "glossary": tmp_path / "terms.tsv",
        "keep": [tmp_path / "keep.txt"],
        "keep_patterns": ["o[ln]d?"],
        "protect": ["placeholders"],
    }
    with Translator.load(saved, terms=terms) as translator:
        found = translator.translate_nbest(["the old house {name}", "river"])
        more = translator.translate_nbest(["the house", "new"], glossary={"new": "neues"})
    assert [one.missing for one, *_ in found] == [(), ()]
    for word in ("old", "Haus", "{name}"):
        assert word in found[0][0].text
    assert "river" in found[1][0].text
    assert "Haus" in more[0][0].text
    assert "neues" in more[1][0].text


def test_what_is_copied_goes_through_a_pivot(saved: Path, tmp_path: Path) -> None:
    terms = {"protect": ["placeholders"]}
    pivot = {"language": "target", "models": (saved,), "nbest": 2}
    with Translator.load(saved, pivot=pivot, terms=terms) as translator:
        (found,) = translator.translate_nbest(["the {name} house"], glossary={"house": "Haus"})
    (best, *_) = found
    assert best.missing == ()
    assert "{name}" in best.text
    assert "Haus" in best.text
    assert best.pivot is not None
    assert "{name}" in best.pivot


def test_where_there_is_no_search_for_terms(
    translator: Translator, saved: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="searched for, not drawn"):
        translator.translate(["a"], glossary=GLOSSARY, sampling={})
    with pytest.raises(UsageError, match="expected a glossary"):
        translator.translate(["a"], glossary=3)  # type: ignore[arg-type]
    language_model = Translator.load(save_tiny_model(tmp_path / "lm", config=TINY_LM))
    with pytest.raises(ConfigError, match="no source to find terms in"):
        language_model.translate(["a"], glossary=GLOSSARY)
    with pytest.raises(ConfigError, match="protect"):
        Translator.load(saved, terms={"protect": ["nonsense"]})


@pytest.mark.parametrize(
    ("glossary", "message"),
    [
        ({"house": 3}, r"glossary: 'house': expected a list of translations, found 3 \(int\)"),
        ({"house": None}, "glossary: 'house': expected a list of translations, found None"),
        ({"house": ["Haus", 3]}, r"glossary: 'house': expected a string, found 3 \(int\)"),
        ({3: "Haus"}, r"glossary: each term: expected a string, found 3 \(int\)"),
    ],
)
def test_a_glossary_of_anything_but_strings_is_refused(
    translator: Translator, glossary: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        translator.translate(["a"], glossary=glossary)


def test_settings_may_be_narrow(translator: Translator) -> None:
    terms = Terminology([Glossary.of(GLOSSARY)])
    options = SearchConfig(constrained_beam=2, beam=1).model_dump(
        include={"constrained_beam", "beam"}
    )
    found = translator.translate(LINES, glossary=GLOSSARY, **options)
    assert lacking(LINES, found, terms) == []


def test_trees_have_no_text_for_terms(tmp_path: Path) -> None:
    parser = Translator.load(save_parser(tmp_path / "parser"))
    with pytest.raises(ConfigError, match=r"glossary: with search\.grammar trees"):
        parser.translate(["The dog barks ."], glossary={"dog": "NN"})


def test_pieces_that_do_not_mark_spaces_spell_no_phrase() -> None:
    with pytest.raises(ConfigError, match=r"a phrase .* needs pieces that mark spaces"):
        PhraseSpeller(listed("Haus")).phrase(LexicalConstraint(("Haus",)))
