"""Unknown pieces of translations, replaced by what they attend to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from listed_pieces import listed
from tiny_model import TINY_LM, save_tiny_model
from torch import Tensor

from dragoman.core.errors import ConfigError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.models.interface import Memory, State
from dragoman.saved.model import build_model
from dragoman.search import SearchConfig
from dragoman.search.scorer import ModelScorer
from dragoman.text.context import ContextConfig
from dragoman.text.inline_tags import InlineTags
from dragoman.text.terms.line_demands import LineDemands
from dragoman.text.terms.terminology import LexicalConstraint, Terminology
from dragoman.text.vocabularies import UNK, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation import unknowns
from dragoman.translation.engines.engine import TorchEngine
from dragoman.translation.forced import mean_attention
from dragoman.translation.line_stream import Line
from dragoman.translation.outputs import Translation
from dragoman.translation.translator import Translator
from dragoman.translation.unknowns import UnknownCopier, check_copies


def copier_of(translator: Translator) -> UnknownCopier:
    config = SearchConfig(batch_tokens=100)
    return UnknownCopier(translator.local_engine, translator.line_format, config)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"), tags=("<2de>",))


class Unsure(ModelScorer):
    """A model that finds the unknown piece likely."""

    more = 2.5

    def step(self, target: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        scores, state = super().step(target, memory, state)
        scores[..., UNK] += self.more
        return torch.log_softmax(scores, -1), state


class Lost(Unsure):
    """A model that knows nothing else."""

    more = 100.0


def looking(monkeypatch: pytest.MonkeyPatch, places: list[int]) -> None:
    """Let the target piece n look at the source piece ``places[n]``."""

    def weights(
        _engine: object, source: list[list[int]], target: list[list[int]], _: int
    ) -> object:
        for number, (read, written) in enumerate(zip(source, target, strict=True)):
            found = torch.full((len(written) + 1, len(read) + 1), 0.01)
            for row, place in enumerate(places[: len(written)]):
                found[row, place] = 1.0
            yield number, found

    monkeypatch.setattr(unknowns, "mean_attention", weights)


@pytest.mark.parametrize(
    ("line", "tags", "pieces", "places", "text"),
    [
        # The characters of an unknown piece, the whole word of a known one.
        ("a ☃☃b c", "", ["▁d", "▁", "<unk>"], [0, 0, 2], "d ☃☃"),
        ("a bcd e", "", ["▁d", "▁", "<unk>"], [0, 0, 2], "d bcd"),
        ("a bcd e", "", ["<unk>", "▁d"], [2, 0], "bcd d"),
        # Tags, and pieces without characters, are not copied.
        ("a b", "<2de> ", ["▁", "<unk>"], [0, 1], "a"),
        ("☃ a", "", ["▁", "<unk>", "▁", "<unk>"], [0, 1, 0, 2], "☃ a"),
    ],
)
def test_an_unknown_piece_becomes_what_it_looks_at(
    line: str,
    tags: str,
    pieces: list[str],
    places: list[int],
    text: str,
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translator = Translator.load(model)
    looking(monkeypatch, places)
    copy = copier_of(translator)
    known = Translation("d", -1.0, -1.0, ["▁d"], ended=True)
    marked = Translation("⁇", -1.0, -2.0, pieces, ended=True)
    assert [one.text for one in copy(line, tags + line, [known, marked])] == ["d", text]


def test_nothing_else_changes_and_nothing_stays_unknown(model: Path) -> None:
    plain = Translator.load(model)
    lines = ["a b c d e", "", "☃☃ a b", "e d c"]
    scorer = Unsure(plain.models[0])
    translator = Translator(plain.models, plain.vocabularies, plain.search, scorer=scorer)
    marked = translator.translate_nbest(lines, allow_unknown=True, nbest=2)
    copied = translator.translate_nbest(lines, unknown="copy", nbest=2)
    assert any("<unk>" in one.pieces for found in marked for one in found)
    for before, after in zip(marked, copied, strict=True):
        for one, other in zip(before, after, strict=True):
            assert one.pieces == other.pieces and one.score == other.score
            assert "⁇" not in other.text
            assert one.text == other.text or "<unk>" in one.pieces
    assert translator.translate(lines, unknown="copy", buffer_lines=1) == [
        found[0].text for found in copied
    ]


def test_a_term_that_is_copied_is_not_missing(
    model: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The vocabulary lacks its characters, so that only a copy can bring it about."""
    plain = Translator.load(model)
    scorer = Unsure(plain.models[0])
    terms = Terminology(patterns=["☃+"])
    translator = Translator(
        plain.models, plain.vocabularies, plain.search, scorer=scorer, terms=terms
    )
    lines = ["☃☃ a b", "☃ " + "a " * 2000, ""]
    looking(monkeypatch, [1] * 20)
    (marked,), *_ = translator.translate_nbest(lines, allow_unknown=True)
    (copied,), (refused,), (empty,) = translator.translate_nbest(lines, unknown="copy")
    assert "☃☃" in copied.text and marked.pieces == copied.pieces
    assert (marked.missing, copied.missing) == (("☃☃",), ())
    assert refused.refused is not None and refused.missing is None and empty.missing is None
    (warning,) = [one for one in caplog.messages if "lacks" in one]
    assert warning.startswith("line 1: the translation lacks '☃☃'")


def test_a_copied_term_with_a_tag_inside_is_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tags = InlineTags(pairs=1, points=1)
    translator = Translator.load(save_tiny_model(tmp_path / "model", inline_tags=tags))
    looking(monkeypatch, [0, 1])
    copy = copier_of(translator)
    text, pieces = "☃<t1> b</t1>", ["▁", "<unk>", "<t1>", "▁b", "</t1>"]
    line = Line(text, "", 0, text, LineDemands((LexicalConstraint(("☃ b",)),)))
    marked = Translation("⁇<t1> b</t1>", -1.0, -1.0, pieces, ended=True, missing=("☃ b",))
    (found,) = copy.of_line(line, [marked])
    assert (found.text, found.missing) == (text, ())


def test_attention_decides_as_it_is_shown(model: Path) -> None:
    translator = Translator.load(model)
    copy = copier_of(translator)
    line = "a ☃ b c"
    marked = Translation("⁇", 0.0, 0.0, ["▁c", "▁", "<unk>", "▁d"], ended=True)
    (found,) = copy(line, line, [marked])
    # One layer: the weights that are shown, but for the target's own spelling of what is unknown.
    shown = translator.attention(line, "c ☃ d")
    assert shown.target[:4] == marked.pieces
    best = int(shown.weights[0].mean(0)[2, :-1].argmax())
    words = {"▁a": "a", "<unk>": "☃", "▁b": "b", "▁c": "c"}
    if shown.source[best] in words:
        assert found.text == f"c {words[shown.source[best]]} d"


def in_context(context: ContextConfig) -> Translator:
    """A model of few positions that writes nothing it knows."""
    lines = ["a b c d e", "e d c", "b a"] * 9
    vocabularies = train_vocabularies(
        zip(lines, lines, strict=True), VocabularyConfig(size=15, tags=("<sep>",)), seed=1
    )
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "d_ff": 8, "heads": 2}
    config = TransformerConfig(**sizes, positions="learned", max_positions=16)
    model = build_model(config, vocabularies)
    search = SearchConfig(maximum_length=3, degenerate="keep")
    return Translator([model], vocabularies, search, scorer=Lost(model), context=context)


def test_context_is_left_out_as_in_search(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = in_context(ContextConfig(sentences=2))
    read: list[str] = []

    def noted(
        engine: TorchEngine, source: list[list[int]], target: list[list[int]], size: int
    ) -> Iterator[tuple[int, Tensor]]:
        read.extend(map(translator.vocabularies.source.decode, source))
        for number, weights in mean_attention(engine, source, target, size):
            weights[:, -2] = 2  # the last piece, before the end symbol
            yield number, weights

    monkeypatch.setattr(unknowns, "mean_attention", noted)
    lines = ["a b c d ☃", "e d c b a", "b d cab"]
    assert translator.translate(lines, unknown="copy") == ["☃" * 3, "a" * 3, "cab" * 3]
    assert sorted(read) == [
        "<sep> a b c d ⁇",
        "a b c d ⁇ <sep> e d c b a",
        "e d c b a <sep> b d cab",
    ]


def test_a_model_that_translates_its_context_copies_nothing() -> None:
    translator = in_context(ContextConfig(target=True))
    assert translator.translate(["a b"], allow_unknown=True) == ["⁇⁇⁇"]
    with pytest.raises(ConfigError, match=r"unknown: copy: .*data\.context\.target.* to mark"):
        translator.translate(["a b"], unknown="copy")


def test_models_that_cannot_copy_are_refused(model: Path, tmp_path: Path) -> None:
    plain = Translator.load(model)
    lines = ["a b c d e"] * 9
    bytewise = train_vocabularies(
        zip(lines, lines, strict=True), VocabularyConfig(size=270, byte_fallback=True), seed=1
    )
    with pytest.raises(ConfigError, match="byte_fallback"):
        check_copies(plain.models, bytewise)
    words = listed("a", "b")
    with pytest.raises(ConfigError, match="unknown: copy needs pieces that mark spaces"):
        check_copies(plain.models, Vocabularies(words, words))
    reader = Translator.load(save_tiny_model(tmp_path / "lm", config=TINY_LM))
    with pytest.raises(ConfigError, match="TransformerLM lacks"):
        reader.translate(["a b"], unknown="copy")
    with pytest.raises(ConfigError, match="unknown"):
        plain.translate(["a"], unknown="guess")  # type: ignore[arg-type]
