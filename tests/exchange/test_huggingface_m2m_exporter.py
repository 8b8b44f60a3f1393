"""Exports to transformers as M2M-100, NLLB-200 and mBART-50, with their tokenizers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from m2m_models import LINES, Made, m2m100, mbart50, nllb
from tiny_model import save_tiny_adapter, save_tiny_model

import dragoman
from dragoman.core.errors import ConfigError, ExportError
from dragoman.exchange.exporting import export_model
from dragoman.exchange.importing import import_model
from dragoman.exchange.trimming import Trimming
from dragoman.exchange.weight_layout import SILENT
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import build_model, load_model, save_model
from dragoman.saved.saved_config import SavedConfig, SavedModel
from dragoman.saved.weights import weights_of
from dragoman.text.examples import Direction
from dragoman.text.tags import language_tag
from dragoman.text.vocabularies import BOS, EOS, VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.call_options import LineOptions, SystemOptions

transformers = pytest.importorskip("transformers", minversion="5")

KINDS: dict[str, tuple[Callable[[Path], Made], tuple[str, str]]] = {
    "nllb": (nllb, ("eng_Latn", "deu_Latn")),
    "m2m100": (m2m100, ("en", "de")),
    "mbart50": (mbart50, ("en_XX", "de_DE")),
}
TEXTS = ["the house", "a little lake", "das", "Wetter am See 7"]
LAYOUT: dict[str, Any] = {
    "encoder_layers": 2, "decoder_layers": 1, "d_model": 8, "d_ff": 9, "heads": 2, "norm": "pre",
    "timescales": "tensor2tensor", "first_position": 2, "language_tags": "decoder_second",
}  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kind:
    make, languages = KINDS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    made = make(folder / "original")
    import_model(folder / "original", folder / "ours")
    report = export_model(folder / "ours", "huggingface", folder / "there")
    assert report.difference is not None
    assert report.difference < 1e-4
    assert "splits 20 of their 20 texts alike" in report.compared
    return Kind(folder, made, languages)


class Kind:
    """An original, imported and exported again."""

    def __init__(self, folder: Path, made: Made, languages: tuple[str, str]) -> None:
        self.folder, self.made, self.languages = folder, made, languages


def trained(folder: Path, languages: tuple[str, str], **settings: Any) -> Path:
    """A model of two languages in both directions, as if trained here, its weights all unlike."""
    directions = tuple(
        Direction(
            source_language=from_,
            target_language=into,
            tags=(language_tag(into), language_tag(from_)),
        )
        for from_, into in (languages, languages[::-1])
    )
    tags = tuple(map(language_tag, languages))
    vocabularies = train_vocabularies(
        zip(LINES, LINES, strict=True), VocabularyConfig(size=60, tags=tags), seed=1
    )
    torch.manual_seed(4)
    config = TransformerConfig(**{**LAYOUT, **settings})
    model = build_model(config, vocabularies)
    weights = {name: one + 0.3 * torch.randn_like(one) for name, one in weights_of(model).items()}
    saved = SavedConfig(model=config, directions=directions)
    save_model(folder, saved, vocabularies, {name: one.detach() for name, one in weights.items()})
    return folder


def changed(path: Path, change: Callable[[str, torch.Tensor], torch.Tensor]) -> None:
    saved = load_model(path, "cpu")
    torch.manual_seed(4)
    weights = {name: change(name, one.detach()) for name, one in weights_of(saved.model).items()}
    save_model(path, saved.config, saved.vocabularies, weights)


def scores(saved: SavedModel, languages: tuple[str, str], text: str) -> torch.Tensor:
    sides = saved.vocabularies
    tags = sides.source.ids(map(language_tag, languages[::-1]))
    ids = torch.tensor([[*tags, *sides.source.encode(text), EOS]])
    inputs = torch.tensor([[BOS, *sides.target.encode("das Haus")]])
    with torch.inference_mode():
        memory = saved.model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
        hidden, _ = saved.model.decode(inputs, memory, saved.model.start(memory))
        return saved.model.logits(hidden).log_softmax(-1)


def code(tokenizer: Any, language: str) -> int:
    ids = (tokenizer.convert_tokens_to_ids(name) for name in (f"__{language}__", language))
    return next(i for i in ids if i != tokenizer.unk_token_id)


def assert_same_texts(ours: Path, there: Path, languages: tuple[str, str]) -> None:
    """What transformers opens and generates greedily is what is translated here."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(there, src_lang=languages[0])
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(there).eval()
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    found = model.generate(
        **batch, num_beams=1, do_sample=False, max_length=14,
        forced_bos_token_id=code(tokenizer, languages[1]),
    )  # fmt: skip
    theirs = tokenizer.batch_decode(found, skip_special_tokens=True)
    options: SystemOptions = {"source_language": languages[0], "target_language": languages[1]}
    with dragoman.load(ours, **options) as translator:
        settings: LineOptions = {"beam": 1, "extra_length": 40, "maximum_length": 12}
        settings["degenerate"] = "keep"
        assert [text.strip() for text in translator.translate(TEXTS, **settings)] == theirs
    assert any(theirs)


class TestRoundTrips:
    def test_weights_are_those_of_the_original(self, kind: Kind) -> None:
        """All but vectors of pieces that no text and no output has."""
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(kind.folder / "there")
        before, after = kind.made.model.state_dict(), model.state_dict()
        assert after.keys() == before.keys()
        used = [*kind.made.rows.values(), *kind.made.codes.values(), 1, 2, 3]
        used = [row for row in used if row > 0]
        places: dict[str, Any] = {"shared": used, "embed_tokens": used, "lm_head": used}
        places["final_logits_bias"] = (slice(None), used)
        places["embed_positions"] = slice(2, -1)
        for name, tensor in before.items():
            place = next((places[part] for part in places if part in name), slice(None))
            torch.testing.assert_close(after[name][place], tensor[place], rtol=0, atol=1e-6)

    def test_text_has_the_ids_of_the_original(self, kind: Kind) -> None:
        there = transformers.AutoTokenizer.from_pretrained(kind.folder / "there")
        for language in kind.languages:
            there.src_lang = language
            assert there("")["input_ids"] == [kind.made.codes[language], 2]
            for text in [*LINES, *TEXTS]:
                spm = import_module("sentencepiece").SentencePieceProcessor(
                    str(kind.folder / "original" / "sentencepiece.bpe.model")
                )
                pieces = spm.encode(text, out_type=str)
                assert there(text)["input_ids"] == kind.made.source(language, pieces)

    def test_greedy_texts_are_ours(self, kind: Kind) -> None:
        assert_same_texts(kind.folder / "ours", kind.folder / "there", kind.languages)

    def test_logits_of_an_import_of_the_export_are_equal(self, kind: Kind, tmp_path: Path) -> None:
        import_model(kind.folder / "there", tmp_path / "back")
        first, second = (
            load_model(kind.folder / "ours", "cpu"),
            load_model(tmp_path / "back", "cpu"),
        )
        assert second.config.directions == first.config.directions
        assert second.config.model == first.config.model
        pieces = [
            one.pieces(range(len(one)))
            for one in (first.vocabularies.source, second.vocabularies.source)
        ]
        assert pieces[0] == pieces[1]
        for text in TEXTS:
            again = scores(second, kind.languages, text)
            torch.testing.assert_close(
                again, scores(first, kind.languages, text), rtol=0, atol=1e-6
            )

    def test_the_program_of_the_card_translates(
        self, kind: Kind, capsys: pytest.CaptureFixture[str]
    ) -> None:
        card = (kind.folder / "there" / "README.md").read_text("utf-8")
        (program,) = re.findall("```python\n(.*?)```", card, re.DOTALL)
        program = program.replace("DIR", str(kind.folder / "there")).replace("...", TEXTS[0])
        exec(program, {})
        assert capsys.readouterr().out.startswith("['")


class TestTrainedHere:
    @pytest.mark.parametrize(
        ("languages", "settings"),
        [
            (("eng_Latn", "deu_Latn"), {}),
            (("en", "de"), {"attention_bias": True, "activation": "gelu"}),
            (("en", "de"), {"output_bias": True, "scale_embeddings": False}),
        ],
    )
    def test_there_and_back_again(
        self, languages: tuple[str, str], settings: dict[str, Any], tmp_path: Path
    ) -> None:
        path = trained(tmp_path / "model", languages, **settings)
        report = export_model(path, "huggingface", tmp_path / "there")
        assert "splits 20 of their 20 texts alike" in report.compared
        assert_same_texts(path, tmp_path / "there", languages)
        config = json.loads((tmp_path / "there" / "config.json").read_text())
        assert config["tie_word_embeddings"] is ("output_bias" not in settings)
        assert config["decoder_start_token_id"] == 0  # <s> has a vector of its own
        import_model(tmp_path / "there", tmp_path / "back")
        first, second = load_model(path, "cpu"), load_model(tmp_path / "back", "cpu")
        names = {one.target_language for one in second.config.directions}
        assert names == set(languages)  # M2M-100's tokenizer has more
        places = second.vocabularies.source.ids(
            first.vocabularies.source.pieces(range(len(first.vocabularies.source)))
        )
        for text in TEXTS:
            again = scores(second, languages, text)[..., places]
            torch.testing.assert_close(again, scores(first, languages, text), rtol=0, atol=1e-5)

    def test_the_only_target_language_is_written_unasked(self, tmp_path: Path) -> None:
        path = trained(tmp_path / "model", ("eng_Latn", "deu_Latn"))
        saved = load_model(path, "cpu")
        config = saved.config.model_copy(update={"directions": saved.config.directions[:1]})
        (path / "config.yaml").unlink()
        save_model(path, config, saved.vocabularies, weights_of(saved.model))
        export_model(path, "huggingface", tmp_path / "there")
        values = json.loads((tmp_path / "there" / "generation_config.json").read_text())
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "there")
        assert values["forced_bos_token_id"] == tokenizer.convert_tokens_to_ids("deu_Latn")
        assert tokenizer.src_lang == "eng_Latn"


class TestAdapted:
    """An imported model with other weights is another one, which transformers opens, too."""

    @pytest.fixture
    def ours(self, tmp_path: Path) -> Path:
        nllb(tmp_path / "original")
        import_model(tmp_path / "original", tmp_path / "ours")
        return tmp_path / "ours"

    def test_whole(self, ours: Path, tmp_path: Path) -> None:
        changed(ours, lambda _, weight: weight + 0.1 * torch.randn_like(weight))
        export_model(ours, "huggingface", tmp_path / "there")
        assert_same_texts(ours, tmp_path / "there", ("eng_Latn", "deu_Latn"))
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "there")
        assert model.lm_head.weight is not model.model.shared.weight
        bias = load_model(ours, "cpu").model.state_dict()["output.bias"]
        assert bias[BOS] < SILENT / 2  # and so it is there

    def test_an_adapter(self, ours: Path, tmp_path: Path) -> None:
        adapter = save_tiny_adapter(tmp_path / "adapter.safetensors", ours, size=0.1)
        export_model(ours, "huggingface", tmp_path / "with", adapter=adapter)
        export_model(ours, "huggingface", tmp_path / "without")
        models = [
            transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / name).state_dict()
            for name in ("with", "without")
        ]
        query = "model.encoder.layers.0.self_attn.q_proj.weight"
        assert not torch.equal(models[0][query], models[1][query])
        assert torch.equal(models[0]["lm_head.weight"], models[0]["model.shared.weight"])


@pytest.mark.parametrize("name", ["nllb", "mbart50"])
def test_a_trimmed_model_is_opened_too(name: str, tmp_path: Path) -> None:
    make, languages = KINDS[name]
    make(tmp_path / "original")
    (tmp_path / "text").write_text("\n".join(TEXTS), "utf-8")
    trimming = Trimming([tmp_path / "text"], languages)
    import_model(tmp_path / "original", tmp_path / "ours", trimming=trimming)
    report = export_model(tmp_path / "ours", "huggingface", tmp_path / "there")
    assert "splits 20 of their 20 texts alike" in report.compared
    assert_same_texts(tmp_path / "ours", tmp_path / "there", languages)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "there")
    saved = load_model(tmp_path / "ours", "cpu")
    others = {"nllb": 0, "mbart50": 52 - 2 + 1}[name]  # codes of other languages, and <mask>
    assert model.config.vocab_size == len(saved.vocabularies.source) + others


@pytest.mark.parametrize(
    ("languages", "settings", "message"),
    [
        (("eng_Latn", "de"), {}, "no codes for the languages de, eng_Latn; name all as NLLB"),
        (("en_XX", "de_DE"), {}, "no codes for the languages de_DE, en_XX"),
        (("en", "de"), {"norm": "post"}, "does not support model.norm: post, only pre"),
        (("en", "de"), {"first_position": 1}, "does not support model.first_position: 1, only 2"),
        (("en", "de"), {"timescales": "paper"}, "does not support model.timescales: paper"),
        (("en", "de"), {"embeddings": "target"}, "has the same embeddings of sources and targets"),
        (("en", "de"), {"d_k": 3}, r"needs d_k and d_v of d_model / heads = 4, not \(3, 4\)"),
    ],
)
def test_what_it_cannot_express(
    languages: tuple[str, str], settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = trained(tmp_path / "model", languages, **settings)
    with pytest.raises(ConfigError, match=message):
        export_model(path, "huggingface", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_both_languages_must_be_told(tmp_path: Path) -> None:
    directions = (Direction(source_language="en", target_language="de", tags=("<2de>",)),)
    path = save_tiny_model(
        tmp_path / "m", tags=("<2de>",), directions=directions, config=TransformerConfig(**LAYOUT)
    )
    with pytest.raises(ConfigError, match=r"has the tags <2de>; .* tags: \[<2de>, <2en>\]"):
        export_model(path, "huggingface", tmp_path / "there")


def test_other_tags_are_refused(tmp_path: Path) -> None:
    path = save_tiny_model(
        tmp_path / "m",
        tags=("<2de>", "<2en>", "<polite>"),
        directions=(
            Direction(source_language="en", target_language="de", tags=("<2de>", "<2en>")),
        ),
        config=TransformerConfig(**LAYOUT),
    )
    with pytest.raises(ConfigError, match="has the tag <polite>, which names no language"):
        export_model(path, "huggingface", tmp_path / "there")


def test_an_export_that_gives_something_else_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = trained(tmp_path / "model", ("en", "de"))
    weights = import_module("dragoman.exchange.huggingface_m2m_weights")
    monkeypatch.setattr(weights, "sines_first", torch.arange)
    with pytest.raises(ExportError, match="differ by up to"):
        export_model(path, "huggingface", tmp_path / "there")
    assert not (tmp_path / "there").exists()
