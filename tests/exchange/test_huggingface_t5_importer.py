"""T5, mT5 and MADLAD-400 as Hugging Face's own program computes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from imported_models import built
from safetensors.torch import load_file, save_file
from t5_models import LANGUAGES, PREFIXES, Made, madlad, mt5, opened, t5, transformers

import dragoman
from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.exporting import export_model
from dragoman.exchange.importing import import_model, importer_of
from dragoman.exchange.interface import ForeignModel
from dragoman.exchange.trimming import Trimming, trimmed
from dragoman.models import TransformerConfig
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.examples import Direction
from dragoman.text.vocabularies import BOS, EOS, UNK

SOURCES = ["the house", "a little lake by the lake", "das", "Wetter am See 7"]
MAKERS: dict[str, Callable[..., Made]] = {"t5": t5, "mt5": mt5, "madlad": madlad}


@pytest.fixture(scope="module", params=MAKERS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    return MAKERS[request.param](tmp_path_factory.mktemp("t5") / "model")


def read(made: Made) -> ForeignModel:
    return importer_of(made.folder).read(made.folder, (None, None))


def config_of(found: ForeignModel) -> TransformerConfig:
    assert isinstance(found.config.model, TransformerConfig)
    return found.config.model


def change(folder: Path, name: str = "config.json", **values: object) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def check_logits(made: Made, found: ForeignModel) -> None:
    """The logits of all pieces behind a source in each direction, step by step and at once."""
    model, vocabulary = built(found).double(), found.vocabularies.target
    made.model.double()
    rows = {piece: row for row, piece in enumerate(made.pieces)}
    shared = [i for i, piece in enumerate(vocabulary.pieces(range(len(vocabulary)))) if i > EOS]
    shared = [i for i in shared if vocabulary.pieces([i])[0] in rows]
    columns = [rows[piece] for piece in vocabulary.pieces(shared)]
    assert len(shared) > 40
    for direction in found.config.directions or [None]:
        tags, asking = direction.tags if direction else (), words(made, direction)
        for text in SOURCES:
            source = torch.tensor([[*vocabulary.ids(tags), *vocabulary.encode(text), EOS]])
            target = shared[5:25]
            with torch.inference_mode():
                memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
                inputs = torch.tensor([[BOS, *target]])
                hidden, _ = model.decode(inputs, memory, model.start(memory))
                whole = model.logits(hidden)[0]
                state, steps = model.start(memory), []
                for piece in inputs[0]:
                    step, state = model.decode(piece.view(1, 1), memory, state)
                    steps.append(model.logits(step)[0, 0])
                theirs = made.model(
                    torch.tensor([made.source(asking + text)]),
                    decoder_input_ids=torch.tensor(
                        [[made.model.config.decoder_start_token_id, *columns[5:25]]]
                    ),
                ).logits[0]
            expected = theirs[:, columns]
            for ours in (whole, torch.stack(steps)):
                torch.testing.assert_close(ours[:, shared], expected, atol=1e-4, rtol=1e-4)
            assert whole[:, BOS].max() < -9e3  # it is a copy of another piece


def words(made: Made, direction: Direction | None) -> str:
    """The text that asks for a direction there."""
    if direction is None:
        return ""
    into = direction.target_language
    if f"<2{into}>" in made.pieces:
        return f"<2{into}> "
    return PREFIXES[f"translation_{direction.source_language}_to_{into}"]["prefix"]


def test_logits_are_those_of_the_original(made: Made) -> None:
    check_logits(made, read(made))


def test_greedy_texts_are_those_of_the_original(made: Made, tmp_path: Path) -> None:
    report = import_model(made.folder, tmp_path / "ours")
    assert report.toolkit == "huggingface-t5"
    (direction, *_) = read(made).config.directions or [None]
    spm = sentencepiece.SentencePieceProcessor(str(made.folder / "spiece.model"))
    options = made.model.config
    never = {options.pad_token_id, spm.unk_id(), options.decoder_start_token_id, 1} - {
        options.eos_token_id
    }
    never |= {row for row, piece in enumerate(made.pieces) if piece.startswith("<2")}
    never |= set(range(len(spm), options.vocab_size))
    expected = []
    for text in SOURCES:
        with torch.inference_mode():
            (found,) = made.model.generate(
                torch.tensor([made.source(words(made, direction) + text)]), num_beams=1,
                do_sample=False, max_length=13, bad_words_ids=[[row] for row in sorted(never)],
            )  # fmt: skip
        expected.append(spm.decode([int(row) for row in found if int(row) not in never]))
    assert len(set(expected)) > 2
    into = direction.target_language if direction else None
    with dragoman.load(tmp_path / "ours", target_language=into) as translator:
        assert translator.tags == (direction.tags if direction else ())
        found = translator.translate(SOURCES, beam=1, maximum_length=12, degenerate="keep")
        assert found == expected


class TestSources:
    """Rows of sources, against Hugging Face's tokenizer, which is another program."""

    def rows(self, found: ForeignModel, tags: tuple[str, ...], text: str) -> list[int | None]:
        vocabulary = found.vocabularies.source
        embeddings = found.weights["source_embedding.weight"]
        assert len(embeddings) == len(vocabulary)
        return [*vocabulary.ids(tags), *vocabulary.encode(text), EOS]

    def test_words_in_front(self, tmp_path: Path) -> None:
        made = t5(tmp_path / "t5")
        tokenizer = transformers.T5Tokenizer.from_pretrained(tmp_path / "t5")
        found = read(made)
        pieces = found.vocabularies.source.pieces(range(len(found.vocabularies.source)))
        directions = found.config.directions
        assert [one.name for one in directions] == ["en-de", "en-fr"]
        assert directions[0].tags != directions[1].tags
        for direction, task in zip(directions, PREFIXES.values(), strict=False):
            for text in SOURCES:
                ids = self.rows(found, direction.tags, text)
                ours = [self.spelt(pieces[i]) for i in ids if i is not None]
                theirs = tokenizer(f"{task['prefix']}{text}").input_ids
                assert ours == tokenizer.convert_ids_to_tokens(theirs)

    def spelt(self, piece: str) -> str:
        name = piece.removeprefix("<text:")
        return piece if name == piece else name[:-1].replace("_", "▁").partition(":2")[0]

    def test_a_piece_in_front(self, tmp_path: Path) -> None:
        made = madlad(tmp_path / "m")
        found = read(made)
        names = [one.target_language for one in found.config.directions]
        assert names == LANGUAGES
        vocabulary = found.vocabularies.source
        for direction in found.config.directions:
            (space, tag) = direction.tags
            assert (space, tag) == ("<text:_>", f"<2{direction.target_language}>")
            spm = sentencepiece.SentencePieceProcessor(str(made.folder / "spiece.model"))
            split = spm.encode(f"{tag} the house", out_type=str)
            assert split[:2] == ["▁", tag]
            assert vocabulary.pieces(vocabulary.encode("the house")) == split[2:]
        matrix = found.weights["source_embedding.weight"]
        (copy, original) = vocabulary.ids(["<text:_>", "▁"])
        assert copy != original != UNK
        assert torch.equal(matrix[copy], matrix[original])
        assert found.weights["output.bias"][copy] < -9e3
        assert not found.config.search["allow_tags"]

    def test_a_word_that_is_there_twice(self, tmp_path: Path) -> None:
        twice = {"translation_en_to_de": {"prefix": "to German to German: "}}
        made = t5(tmp_path / "t5", task_specific_params=twice)
        found = read(made)
        (direction,) = found.config.directions
        vocabulary = found.vocabularies.source
        weights = found.weights["source_embedding.weight"]
        ids = vocabulary.ids(direction.tags)
        assert len(set(ids)) == len(ids)
        half = len(made.source("to German")) - 1
        assert torch.equal(weights[ids[:half]], weights[ids[half : 2 * half]])
        assert len(ids) == len(made.source("to German to German:")) - 1

    @pytest.mark.parametrize(
        "tasks",
        [
            None,
            7,
            {"translation_en_to_de": 7},
            *({"translation_en_to_de": {"prefix": one}} for one in ("de:", "<de> ", "to \u5317 ")),
        ],
    )
    def test_without_known_words(self, tmp_path: Path, tasks: object) -> None:
        made = t5(tmp_path / "t5")
        change(made.folder, task_specific_params=tasks)
        found = importer_of(made.folder).read(made.folder, ("en", "de"))
        assert (found.config.source_language, found.config.target_language) == ("en", "de")
        assert not found.config.directions
        assert any("write them there" in note for note in found.notes)
        assert found.vocabularies.source.sentencepiece is not None
        check_logits(made, found)

    def test_a_language_that_it_lacks(self, tmp_path: Path) -> None:
        made = madlad(tmp_path / "m")
        with pytest.raises(ConfigError, match="no language fr; its languages are de, en, ko"):
            import_model(made.folder, tmp_path / "x", languages=("en", "fr"))

    def test_pieces_that_only_the_tokenizer_lists(self, tmp_path: Path) -> None:
        made = t5(tmp_path / "t5")
        rows = len(made.pieces)
        added = {"<extra_id_0>": rows, "<2ko>": rows + 1}
        (made.folder / "added_tokens.json").write_text(json.dumps(added))
        listed = {str(rows + 2): {"content": "<2en>"}, "0": {"content": "<pad>"}}
        (made.folder / "tokenizer_config.json").write_text(
            json.dumps({"added_tokens_decoder": listed})
        )
        found = read(made)
        assert [one.tags for one in found.config.directions] == [("<2en>",), ("<2ko>",)]
        assert "<extra_id_0>" not in found.vocabularies.source.pieces(range(rows))
        (ours,) = found.vocabularies.source.ids(["<2ko>"])
        expected = made.model.shared.weight[rows + 1] * 12**-0.5
        torch.testing.assert_close(found.weights["source_embedding.weight"][ours], expected)


class TestSpecialCases:
    @pytest.mark.parametrize(
        ("name", "activation"),
        [
            ("relu", "relu"),
            ("gelu_new", "gelu_tanh"),
            ("gated-gelu", "geglu_tanh"),
            ("gated-silu", "swiglu"),
            ("gelu", "gelu"),
        ],
    )
    def test_feed_forward_sublayers(self, tmp_path: Path, name: str, activation: str) -> None:
        made = t5(tmp_path / "t5", feed_forward_proj=name, num_decoder_layers=1)
        found = read(made)
        config = config_of(found)
        assert config.feed_forward.activation == activation
        assert (config.encoder_layers, config.decoder_layers) == (2, 1)
        check_logits(made, found)

    @pytest.mark.parametrize("output", [True, False])
    @pytest.mark.parametrize("scaled", [True, False])
    def test_outputs_scaled_or_not_and_tied_or_not(
        self, tmp_path: Path, output: bool, scaled: bool
    ) -> None:
        made = t5(tmp_path / "t5", output=output)
        change(made.folder, scale_decoder_outputs=scaled)
        made = Made(made.folder, opened(made.folder))
        assert made.model.config.scale_decoder_outputs == scaled
        found = read(made)
        assert config_of(found).embeddings == ("inputs" if output else "shared")
        assert ("output.weight" in found.weights) == output
        assert "target_embedding.weight" not in found.weights
        check_logits(made, found)

    @pytest.mark.parametrize("name", ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"])
    def test_the_matrix_may_have_another_name(self, tmp_path: Path, name: str) -> None:
        made = madlad(tmp_path / "m")
        file = made.folder / "model.safetensors"
        weights = load_file(file)
        weights[name] = weights.pop("shared.weight")
        save_file(weights, file)
        check_logits(made, read(made))
        save_file({**weights, "shared.weight": weights[name] + 1}, file)
        with pytest.raises(ConfigError, match=r"differs from shared\.weight"):
            read(made)

    def test_weights_in_half_precision_and_shards(self, tmp_path: Path) -> None:
        made = madlad(tmp_path / "m")
        half = made.model.bfloat16()
        half.save_pretrained(made.folder, max_shard_size="10KB")
        (made.folder / "model.safetensors").unlink()
        change(made.folder, tie_word_embeddings=False)
        assert len(list(made.folder.glob("model-*.safetensors"))) > 1
        check_logits(Made(made.folder, half.float()), read(made))

    def test_a_bias_that_the_original_does_not_read(self, tmp_path: Path) -> None:
        made = t5(tmp_path / "t5")
        file = made.folder / "model.safetensors"
        name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
        save_file(load_file(file) | {name: torch.ones(8, 3)}, file)
        check_logits(made, read(made))

    @pytest.mark.parametrize(
        ("values", "problem"),
        [
            ({"model_type": "umt5"}, "type 'umt5', expected 't5': it is umT5"),
            ({"feed_forward_proj": "gated-tanh"}, "'gated-tanh' is none of: relu, "),
            ({"feed_forward_proj": "double-gelu"}, "'double-gelu' is none of"),
            ({"d_model": 13}, "d_model: 13, but the embeddings have the width 12"),
            ({"vocab_size": 20}, "pieces, the model has 20; they do not belong together"),
            ({"vocab_size": 400}, "the dictionary has 400 pieces"),
            ({"relative_attention_num_buckets": 6}, "do not belong together"),
            ({"relative_attention_max_distance": 3}, "bucket_distance: 3 must be above half"),
            ({"relative_attention_num_buckets": 9}, "multiple of 2"),
            ({"eos_token_id": 399}, "eos_token_id: 399 is no piece of spiece.model"),
            ({"num_decoder_layers": 1}, "decoder.block.1.layer.0.SelfAttention.k.weight"),
            ({"num_layers": 3}, "encoder.block.2.layer.0.SelfAttention.q.weight is missing"),
            ({"num_heads": 2}, "do not belong together"),
            ({"forced_bos_token_id": 4}, "4 begins every output"),
        ],
    )
    def test_what_does_not_fit_is_refused(
        self, tmp_path: Path, values: dict[str, Any], problem: str
    ) -> None:
        made = t5(tmp_path / "t5")
        change(made.folder, **values)
        change(made.folder, "generation_config.json", **values)
        with pytest.raises((ConfigError, DataError), match=problem):
            import_model(made.folder, tmp_path / "ours", toolkit="huggingface-t5")
        assert not (tmp_path / "ours").exists()

    def test_a_lacking_bias_is_named(self, tmp_path: Path) -> None:
        made = t5(tmp_path / "t5")
        file = made.folder / "model.safetensors"
        weights = load_file(file)
        del weights["decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        save_file(weights, file)
        with pytest.raises(DataError, match=r"decoder.*relative_attention_bias.weight is missing"):
            read(made)


class TestUse:
    def test_a_domain_takes_the_tags_of_its_target(self, tmp_path: Path) -> None:
        """The source may be any language."""
        made = madlad(tmp_path / "m")
        import_model(made.folder, tmp_path / "ours")
        parent = ParentModel.open(tmp_path / "ours")
        found = parent.direction_for(("en", "de"), "corrections.tsv")
        assert (found.name, found.tags) == ("source-de", ("<text:_>", "<2de>"))
        assert parent.nearest_direction(found) == found
        with pytest.raises(ConfigError, match=r"corrections\.tsv: en-fr, and "):
            parent.direction_for(("en", "fr"), "corrections.tsv")

    def test_trimmed_to_languages(self, tmp_path: Path) -> None:
        made = madlad(tmp_path / "m")
        text = tmp_path / "text"
        text.write_text("the house\ndas Wetter\n")
        whole = read(made)
        fewer = trimmed(whole, Trimming([text], ["en", "ko"]))
        assert [one.target_language for one in fewer.config.directions] == ["en", "ko"]
        vocabulary = fewer.vocabularies.source
        assert len(vocabulary) < len(whole.vocabularies.source)
        names = vocabulary.pieces(vocabulary.tags)
        assert sorted(names) == ["<2en>", "<2ko>", "<text:_>"]
        check = [*vocabulary.ids(["<text:_>", "<2ko>"]), *vocabulary.encode("the house"), EOS]
        before = whole.vocabularies.source
        expected = [*before.ids(["<text:_>", "<2ko>"]), *before.encode("the house"), EOS]
        found = []
        for model, ids in ((built(fewer), check), (built(whole), expected)):
            source = torch.tensor([ids])
            with torch.inference_mode():
                found.append(model.encode(source, torch.ones_like(source).bool()).hidden)
        torch.testing.assert_close(found[0], found[1])

    @pytest.mark.parametrize("program", ["ctranslate2", "huggingface", "marian"])
    def test_other_programs_refuse_its_settings_by_name(self, tmp_path: Path, program: str) -> None:
        made = madlad(tmp_path / "m")
        import_model(made.folder, tmp_path / "ours")
        with pytest.raises(ConfigError, match=r"model\.positions: buckets"):
            export_model(tmp_path / "ours", program, tmp_path / "out")

    def test_onnx_has_it(self, tmp_path: Path) -> None:
        made = madlad(tmp_path / "m")
        import_model(made.folder, tmp_path / "ours")
        report = export_model(tmp_path / "ours", "onnx", tmp_path / "out")
        assert report.difference is not None and report.difference < 1e-4
