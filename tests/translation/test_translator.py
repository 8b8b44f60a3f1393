from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from agreement import assert_same_translations
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dragoman
from dragoman.core.errors import ConfigError, DataError, SavedError, UsageError
from dragoman.models.families.transformer import Transformer, TransformerConfig
from dragoman.models.interface import TranslationModel
from dragoman.saved.model import save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.search import Hypothesis, SearchConfig
from dragoman.text.vocabularies import BOS, PAD, Vocabularies, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.call_options import LineOptions
from dragoman.translation.engines.engine import Engine, SearchedBatch, SourceBatch
from dragoman.translation.outputs import AttentionOf, Scored, Translation, Unscored
from dragoman.translation.translator import Translator

torch.set_num_threads(1)  # threads waiting for one another take longer than matrices this small

WORDS = [
    "the",
    "a",
    "small",
    "large",
    "house",
    "tree",
    "stands",
    "by",
    "under",
    "near",
    "river",
    "old",
    "and",
    "new",
]
CONFIG = TransformerConfig(
    encoder_layers=1, decoder_layers=2, d_model=10, d_ff=11, heads=2, dropout=0.3
)
SEARCH = SearchConfig(extra_length=4, batch_tokens=100)
sentence = st.lists(st.sampled_from([*WORDS, "\u2603", "  "]), max_size=7).map(" ".join)
lines_of_text = st.lists(sentence, max_size=9)
few = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def make_vocabularies(seed: int = 1, **settings: Any) -> Vocabularies:
    chance = random.Random(seed)
    text = [" ".join(chance.choices(WORDS, k=6)) for _ in range(60)]
    config = VocabularyConfig(size=60, **settings)
    return train_vocabularies(zip(text, text, strict=True), config, seed=1)


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return make_vocabularies()


def make_model(vocabularies: Vocabularies, seed: int = 1) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(CONFIG, len(vocabularies.source), len(vocabularies.target)).double()


@pytest.fixture(scope="module")
def translator(vocabularies: Vocabularies) -> Translator:
    return Translator([make_model(vocabularies).eval()], vocabularies, SEARCH)


def save(directory: Path, vocabularies: Vocabularies, seed: int = 1, **search: object) -> Path:
    model = make_model(vocabularies, seed).float()
    config = SavedConfig(model=CONFIG, search={"extra_length": 4, **search})
    save_model(directory, config, vocabularies, dict(model.named_parameters()))
    return directory


@few
@given(lines=lines_of_text, buffer=st.integers(1, 5), tokens=st.integers(1, 200))
def test_a_translation_depends_on_its_line_alone(
    translator: Translator, lines: list[str], buffer: int, tokens: int
) -> None:
    expected = [translator.translate([line])[0] for line in lines]
    found = translator.translate(lines, buffer_lines=buffer, batch_tokens=tokens)
    assert found == expected
    assert list(translator.stream(iter(lines), buffer_lines=buffer)) == expected


@few
@given(lines=lines_of_text, buffer=st.integers(1, 5))
def test_samples_do_not_depend_on_batches(
    translator: Translator, lines: list[str], buffer: int
) -> None:
    sampling = {"seed": 7, "top_k": 20}
    whole = translator.translate_nbest(lines, sampling=sampling, nbest=2)
    parts = translator.translate_nbest(lines, sampling=sampling, nbest=2, buffer_lines=buffer)
    assert [texts(row) for row in parts] == [texts(row) for row in whole]


def texts(translations: list[Translation]) -> list[str]:
    return [translation.text for translation in translations]


@few
@given(lines=lines_of_text)
def test_the_score_of_a_translation_is_what_search_gave_it(
    translator: Translator, lines: list[str]
) -> None:
    for line, best in zip(lines, translator.translate_nbest(lines, nbest=3), strict=True):
        for translation in best if line.strip() else []:
            target = translator.vocabularies.target
            if target.pieces(target.encode(translation.text)) != translation.pieces:
                continue  # split in another way, the same text has another probability
            (scored,) = translator.score([line], [translation.text])
            assert scored.log_probability == pytest.approx(translation.log_probability)
            assert scored.tokens == len(translation.pieces) + 1
            each = translation.token_scores or []
            assert len(each) == scored.tokens
            assert math.fsum(each) == pytest.approx(translation.log_probability)


def test_white_space_and_composition_do_not_matter(translator: Translator) -> None:
    plain, spaced = translator.translate(["the house", " the\u00a0\u2028 house\t\n"])
    assert spaced == plain


@pytest.mark.parametrize("nothing", ["", "   ", "\u2028", "\n", "\u0000"])
def test_an_empty_line_stays_empty(translator: Translator, nothing: str) -> None:
    found = translator.translate_nbest(["the house", nothing, "a tree"], nbest=2)
    assert found[1] == [Translation("", 0.0, 0.0, [], ended=True)]
    assert_same_translations(found[:1], translator.translate_nbest(["the house"], nbest=2))
    assert translator.translate([nothing]) == [""]
    assert translator.translate([]) == []


@pytest.mark.parametrize("normalization", ["identity", "nmt_nfkc"])
def test_an_empty_line_stays_empty_behind_tags(normalization: str) -> None:
    """Also one that only normalisation makes so: tags alone would have a translation."""
    tags = ("<2de>", "<x>")
    vocabularies = make_vocabularies(tags=tags, normalization=normalization)
    tagged = Translator([make_model(vocabularies).eval()], vocabularies, SEARCH, tags=tags)
    lines = ["", " ", "\ufeff", "\x1a", "\x00 \x01", "\u2581", "\u3000"]
    lines += [] if normalization == "identity" else ["\u200b"]
    assert tagged.translate(lines) == [""] * len(lines)
    assert all(tagged.translate(["the house", " ".join(tags)[:-1]]))


def test_streaming_reads_no_further_than_its_buffer(translator: Translator) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "the old house"

    stream = translator.stream(endless(), buffer_lines=3, beam=1)
    for translated in range(1, 8):
        next(stream)
        assert read <= translated + 2


def test_progress_counts_lines_up_to_the_last(translator: Translator) -> None:
    lines = ["the old house", "", "a tree"] * 3 + ["under the river"] * 4
    for method in (translator.translate, translator.translate_nbest):
        counts: list[int] = []
        method(lines, buffer_lines=5, batch_tokens=12, beam=1, progress=counts.append)
        assert counts == sorted(counts)
        assert len(counts) > 2
        assert (counts[0] > 0, counts[-1]) == (True, len(lines))


def test_a_line_too_long_is_refused_by_its_number(translator: Translator) -> None:
    lines = ["the house", "", "tree " * 50]
    for buffer in (1, 9):
        with pytest.raises(DataError, match=r"line 3: \d+ pieces .*max_source_pieces 20"):
            translator.translate(lines, max_source_pieces=20, buffer_lines=buffer)
    with pytest.raises(DataError, match="line 1: "):
        translator.score(["tree " * 2000], ["tree"])
    with pytest.raises(DataError, match="line 1: "):
        translator.score(["tree"], ["tree " * 2000])


LONG = "tree " * 50


def short_sighted(vocabularies: Vocabularies, positions: int = 30) -> Transformer:
    """A model that has learned so many positions."""
    torch.manual_seed(1)
    config = CONFIG.model_copy(update={"positions": "learned", "max_positions": positions})
    return Transformer(config, len(vocabularies.source), len(vocabularies.target)).double().eval()


def test_a_line_beyond_the_positions_is_refused_by_its_number(vocabularies: Vocabularies) -> None:
    wide = make_model(vocabularies).eval()
    for models in ([short_sighted(vocabularies)], [wide, short_sighted(vocabularies)]):
        translator = Translator(models, vocabularies, SEARCH)
        said = r"line 2: \d+ pieces and the end symbol are more than model.max_positions 30; split"
        with pytest.raises(DataError, match=said):
            translator.translate(["the house", LONG])
        for sources, targets in ((["a", LONG], ["a", "a"]), (["a", "a"], ["a", LONG])):
            with pytest.raises(DataError, match=said):
                translator.score(sources, targets)


def test_a_line_as_long_as_the_positions_allow_is_read(vocabularies: Vocabularies) -> None:
    line = "the old house stands by"
    pieces = len(vocabularies.source.encode(line))
    exact, short = (
        Translator([short_sighted(vocabularies, positions)], vocabularies, SEARCH)
        for positions in (pieces + 1, pieces)
    )
    assert exact.translate_nbest([line])[0][0].refused is None
    assert exact.score([line], [line])[0].tokens == pieces + 1
    with pytest.raises(DataError, match=f"{pieces} pieces and the end symbol are more"):
        short.translate([line])


@pytest.mark.parametrize("buffer", [1, 2, 9])
@pytest.mark.parametrize("limit", ["positions", "max_source_pieces"])
def test_a_line_too_long_costs_no_other_line(
    limit: str, buffer: int, vocabularies: Vocabularies
) -> None:
    lines = ["the house", LONG, "", "a tree by the river", LONG, "old"]
    learned = Translator([short_sighted(vocabularies)], vocabularies, SEARCH)
    plain = Translator([make_model(vocabularies).eval()], vocabularies, SEARCH)
    cases: dict[str, tuple[Translator, dict[str, Any]]] = {
        "positions": (learned, {}),
        "max_source_pieces": (plain, {"max_source_pieces": 20}),
    }
    translator, options = cases[limit]
    found = translator.translate_nbest(lines, buffer_lines=buffer, **options)
    for number, (line, (best, *others)) in enumerate(zip(lines, found, strict=True), 1):
        if line == LONG:
            assert best.refused is not None
            assert best.refused.startswith(f"line {number}: ")
            assert limit in best.refused
            assert (best.text, best.pieces, best.ended, others) == ("", [], False, [])
            assert best.score == best.log_probability == float("-inf")
        else:
            alone = translator.translate_nbest([line])[0][0]
            assert (best.text, best.pieces, best.refused) == (alone.text, alone.pieces, None)
            assert best.score == pytest.approx(alone.score)
    # Where there is room for text alone, the error comes after what was translated before it.
    stream = translator.stream(lines, buffer_lines=buffer, **options)
    assert next(stream) == found[0][0].text
    with pytest.raises(DataError, match="line 2: "):
        next(stream)


def test_batches_are_sized_for_the_device_that_searches(vocabularies: Vocabularies) -> None:
    model = make_model(vocabularies)
    on_processor = Translator([model], vocabularies)
    assert on_processor.search.tokens_at_once == 8192  # also where a GPU goes unused
    elsewhere = Translator([model.to("meta")], vocabularies)  # any device but a processor
    assert elsewhere.configure(nbest=2).tokens_at_once == 65_536
    given = Translator([model], vocabularies, SearchConfig(batch_tokens=7))
    assert given.search.tokens_at_once == 7


def test_options_hold_for_one_call(translator: Translator) -> None:
    (three,) = translator.translate_nbest(["the house"], beam=3, nbest=3)
    assert len(three) == 3
    (one,) = translator.translate_nbest(["the house"], beam=None)
    assert len(one) == 1
    assert translator.search == SEARCH


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baem": 4}, "search options: unknown key 'baem'; did you mean 'beam'?"),
        ({"beam": 0}, "search options: beam: .* found 0"),
        ({"beam": "wide"}, "search options: beam: .* found 'wide'"),
        ({"nbest": 9, "beam": 4}, "search options: .*nbest 9 needs a beam"),
        ({"length_penalty": float("nan")}, "search options: length_penalty: .* finite .*found nan"),
    ],
)
def test_options_without_sense_are_refused(
    translator: Translator, options: LineOptions, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        translator.translate_nbest(["the house"], **options)


def test_as_many_translations_as_are_asked_for_widen_the_beam(translator: Translator) -> None:
    (found,) = translator.translate_nbest(["the house"], nbest=9)
    assert len(found) == 9
    assert_same_translations([found], translator.translate_nbest(["the house"], nbest=9, beam=9))
    narrow = translator.translate_nbest(["the house"], nbest=2)
    assert_same_translations(narrow, translator.translate_nbest(["the house"], nbest=2, beam=4))


def test_who_wants_several_translations_is_told_how(translator: Translator) -> None:
    for call in (translator.translate, translator.stream):
        with pytest.raises(ConfigError, match="use translate_nbest"):
            call(["the house"], nbest=2)
    assert translator.translate(["the house"], nbest=1) == translator.translate(["the house"])


def test_scoring_wants_as_many_targets_as_sources(translator: Translator) -> None:
    with pytest.raises(DataError, match="2 source lines and 1 target lines"):
        translator.score(["a", "the"], ["a"])


@few
@given(pairs=st.lists(st.tuples(sentence, sentence), max_size=6))
def test_scores_do_not_depend_on_the_batch(
    translator: Translator, pairs: list[tuple[str, str]]
) -> None:
    found = translator.score([source for source, _ in pairs], [target for _, target in pairs])
    for (source, target), scored in zip(pairs, found, strict=True):
        (alone,) = translator.score([source], [target])
        assert scored.tokens == alone.tokens
        assert scored.log_probability == pytest.approx(alone.log_probability)


def test_pairs_that_can_be_scored_are(translator: Translator) -> None:
    sources = ["the house", "tree " * 2000, "<2fr> a tree", "old tree", ""]
    targets = ["a", "a", "a", "tree " * 2000, "the"]
    found = translator.score_fit(sources, targets)
    kinds = [one.kind if isinstance(one, Unscored) else None for one in found]
    too_long = "too long for the model"
    assert kinds == [None, too_long, "unknown language tag", too_long, None]
    assert isinstance(found[1], Unscored)
    assert "max_source_pieces" in found[1].reason
    expected = translator.score(["the house", ""], ["a", "the"])
    for one, other in zip([found[0], found[4]], expected, strict=True):
        assert isinstance(one, Scored)
        assert one.tokens == other.tokens
        assert one.log_probability == pytest.approx(other.log_probability)
    with pytest.raises(DataError, match="5 source lines and 4 target lines"):
        translator.score_fit(sources, targets[1:])


def test_a_model_in_training_is_given_back_as_it_was(vocabularies: Vocabularies) -> None:
    model = make_model(vocabularies).train()
    model.encoder.eval()  # frozen by its owner
    before = [module.training for module in model.modules()]
    translator = Translator([model], vocabularies, SEARCH)
    assert translator.translate(["the house"]) == translator.translate(["the house"])
    translator.score(["the"], ["a"])
    with pytest.raises(DataError):
        translator.translate(["tree " * 2000])
    assert [module.training for module in model.modules()] == before
    assert all(parameter.requires_grad for parameter in model.parameters())
    batch = torch.tensor([[5, 3]])
    memory = model.encode(batch, batch != 0)
    model.logits(model.decode(batch, memory, model.start(memory))[0]).sum().backward()


def test_translating_leaves_an_abandoned_stream_in_training(vocabularies: Vocabularies) -> None:
    model = make_model(vocabularies).train()
    stream = Translator([model], vocabularies, SEARCH).stream(["the"] * 4, buffer_lines=2)
    next(stream)
    assert model.training


def test_attention_shows_every_piece(translator: Translator) -> None:
    attention = translator.attention("the old house", "a tree")
    assert attention.source[-1] == attention.target[-1] == "</s>"
    shape = (2, 2, len(attention.target), len(attention.source))
    assert attention.weights.shape == shape
    torch.testing.assert_close(attention.weights.sum(-1), torch.ones(shape[:-1]))
    own = translator.attention("the old house")
    assert (
        "".join(own.target[:-1]).replace("\u2581", " ").strip()
        == (translator.translate(["the old house"])[0])
    )


def test_attention_is_of_one_model_that_has_some(
    vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = [make_model(vocabularies, seed).eval() for seed in (1, 2)]
    with pytest.raises(ConfigError, match="load only one"):
        Translator(models, vocabularies).attention("the", "a")
    monkeypatch.setattr(Transformer, "decode_attending", TranslationModel.decode_attending)
    with pytest.raises(ConfigError, match="no attention over the source"):
        Translator(models[:1], vocabularies).attention("the", "a")


def test_attention_of_anything_else_is_refused(translator: Translator) -> None:
    wrong: Any = "target"
    with pytest.raises(ConfigError, match="choose one of: source, encoder, decoder"):
        translator.attention("the", "a", of=wrong)
    number: Any = 3
    reading: list[AttentionOf] = ["source", "decoder"]
    for of in reading:
        with pytest.raises(UsageError, match=r"target: expected a string, found 3 \(int\)"):
            translator.attention("the", number, of=of)


def test_a_saved_model_translates_as_before(tmp_path: Path, vocabularies: Vocabularies) -> None:
    path = save(tmp_path / "one", vocabularies, beam=2)
    lines = ["the old house stands", "", "a tree by the river"]
    loaded = dragoman.load(str(path), device="cpu")
    assert loaded.search == SearchConfig(extra_length=4, beam=2)
    model = make_model(vocabularies).float()
    expected = Translator([model], vocabularies, SEARCH).translate(lines, beam=2)
    assert loaded.translate(lines) == expected


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"sampling": {"seed": 3}}])
def test_control_symbols_are_never_put_out(options: dict[str, Any], tmp_path: Path) -> None:
    """Not even by a model that would like nothing better."""
    tags = ("<2de>", "<2en>")
    vocabularies = make_vocabularies(tags=tags)
    model = make_model(vocabularies).eval()
    with torch.no_grad():
        loved = model.output.weight[PAD].clone()
        model.output.weight[[BOS, *vocabularies.target.tags]] = loved
        decoder: Any = model.decoder
        last = decoder[-1].residuals[2].norm
        last.weight.zero_()
        last.bias.copy_(9 * loved)
    control = {"<pad>", "<s>", *tags}
    translator = Translator([model], vocabularies, SEARCH)

    def put_out(**more: Any) -> set[str]:
        found = translator.translate_nbest(["the house"] * 9, **{**options, **more})
        return {piece for (best, *_) in found for piece in best.pieces}

    assert not control & put_out()
    assert set() < control & put_out(allow_tags=True) <= set(tags)


def test_several_paths_are_an_ensemble(tmp_path: Path, vocabularies: Vocabularies) -> None:
    one = save(tmp_path / "one", vocabularies, seed=1)
    two = save(tmp_path / "two", vocabularies, seed=2)
    pairs = (["the house", "a tree"], ["a new tree", "old"])
    alone = [Translator.load(path, device="cpu").score(*pairs) for path in (one, two)]
    both = Translator.load(one, two, device="cpu").score(*pairs)
    same = Translator.load(one, one, device="cpu").score(*pairs)
    for first, second, together, twice in zip(*alone, both, same, strict=True):
        assert twice.log_probability == pytest.approx(first.log_probability, rel=1e-5)
        assert together.log_probability > min(first.log_probability, second.log_probability)
        assert together != first


def test_an_ensemble_needs_one_vocabulary(tmp_path: Path, vocabularies: Vocabularies) -> None:
    one = save(tmp_path / "one", vocabularies)
    other = save(tmp_path / "other", make_vocabularies(seed=9))
    with pytest.raises(SavedError, match=r"other: its source vocabulary is not that of .*one"):
        Translator.load(one, other)


def test_loading_says_what_is_missing(tmp_path: Path, vocabularies: Vocabularies) -> None:
    path = save(tmp_path / "one", vocabularies, baem=3)
    with pytest.raises(ConfigError, match=r"search: unknown key 'baem'; did you mean 'beam'"):
        Translator.load(path, device="cpu")
    with pytest.raises(ConfigError, match="at least one"):
        Translator.load()
    for device in ("abacus", "meta", "hpu"):
        with pytest.raises(ConfigError, match=f"device '{device}' cannot be used"):
            Translator.load(path, device=device)
    with pytest.raises(SavedError, match="none"):
        Translator.load(tmp_path / "none")
    with pytest.raises(ConfigError, match="at least one model"):
        Translator([], vocabularies)


class Closable(Engine):
    """An engine that remembers how often it was closed."""

    has_token_scores = False

    def __init__(self) -> None:
        self.closed = 0

    def search(
        self, batches: Iterable[SourceBatch], config: SearchConfig
    ) -> Iterator[SearchedBatch]:
        for batch in batches:
            found = [[Hypothesis([], 0.0, 0.0, ended=True)]] * len(batch.sources)
            yield SearchedBatch(batch, found)

    def close(self) -> None:
        self.closed += 1


def test_a_closed_translator_says_so(vocabularies: Vocabularies) -> None:
    engine = Closable()
    with Translator([make_model(vocabularies)], vocabularies, SEARCH, engine) as translator:
        assert translator.translate(["the house"]) == [""]
        assert not engine.closed
    assert engine.closed
    translator.close()
    for call in (
        lambda: translator.translate(["the"]),
        lambda: translator.translate_nbest(["the"]),
        lambda: translator.stream(["the"]),
        lambda: translator.score(["the"], ["a"]),
        lambda: translator.attention("the"),
        translator.__enter__,
    ):
        with pytest.raises(UsageError, match="this translator is closed; load it again"):
            call()


def test_an_error_in_its_block_closes_a_translator(vocabularies: Vocabularies) -> None:
    engine = Closable()
    with (
        pytest.raises(LookupError, match="mine"),
        Translator([make_model(vocabularies)], vocabularies, SEARCH, engine),
    ):
        raise LookupError("mine")
    assert engine.closed == 1


def test_a_stream_ends_with_its_translator(vocabularies: Vocabularies) -> None:
    translator = Translator([make_model(vocabularies)], vocabularies, SEARCH)
    stream = translator.stream(["the house"] * 3)
    next(stream)
    translator.close()
    with pytest.raises(UsageError, match="closed"):
        next(stream)
