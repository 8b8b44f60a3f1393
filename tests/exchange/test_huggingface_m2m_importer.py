"""M2M-100, NLLB-200 and mBART-50 as Hugging Face's own program computes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sentencepiece
import torch
from imported_models import built
from m2m_models import Made, m2m100, mbart50, nllb, random_model
from safetensors.torch import load_file, save_file
from torch import Tensor

import dragoman
from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.importing import import_model, importer_from, importer_of
from dragoman.techniques.adaptation.parent import ParentModel
from dragoman.text.vocabularies import BOS, EOS
from dragoman.translation.call_options import SystemOptions

SOURCES = ["the house", "a little lake", "das", "Wetter am See 7"]


@pytest.fixture(scope="module", params=["nllb", "m2m100", "mbart50"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    make = {"nllb": nllb, "m2m100": m2m100, "mbart50": mbart50}[request.param]
    return make(tmp_path_factory.mktemp("m2m") / "model")


def pair(made: Made) -> tuple[str, str]:
    names = [("eng_Latn", "deu_Latn"), ("en_XX", "de_DE"), ("en", "de")]
    return next((pair for pair in names if pair[0] in made.codes), names[-1])


def theirs(made: Made, source: list[int], language: str, target: list[int]) -> Tensor:
    """Logits behind the code of the language, ``(target + 1, rows)``."""
    decoder = torch.tensor([[2, made.codes[language], *target]])
    with torch.inference_mode():
        return made.model(torch.tensor([source]), decoder_input_ids=decoder).logits[0, 1:]


def test_logits_are_those_of_the_original(made: Made) -> None:
    read = importer_of(made.folder).read(made.folder, (None, None))
    model, vocabulary = built(read), read.vocabularies.target
    from_, into = pair(made)
    tags = vocabulary.ids([f"<2{into}>", f"<2{from_}>"])
    ours = {piece: number for number, piece in enumerate(vocabulary.pieces(range(len(vocabulary))))}
    shared = [piece for piece in made.rows if piece in ours and made.rows[piece] > 3]
    assert len(shared) >= 30
    columns = [ours[piece] for piece in shared], [made.rows[piece] for piece in shared]
    for text in SOURCES:
        pieces = vocabulary.pieces(vocabulary.encode(text))
        assert set(pieces) <= {*made.rows, "<unk>"}
        ids = torch.tensor([[*tags, *vocabulary.ids(pieces), EOS]])
        target = shared[3:9]
        expected = theirs(
            made, made.source(from_, pieces), into, [made.rows[one] for one in target]
        )
        with torch.inference_mode():
            memory = model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
            inputs = torch.tensor([[BOS, *(ours[one] for one in target)]])
            hidden, _ = model.decode(inputs, memory, model.start(memory))
            found = model.logits(hidden)[0]
        torch.testing.assert_close(
            found[:, columns[0]], expected[:, columns[1]], atol=1e-4, rtol=1e-4
        )


def test_greedy_texts_are_those_of_the_original(made: Made, tmp_path: Path) -> None:
    from_, into = pair(made)
    report = import_model(made.folder, tmp_path / "ours")
    kinds = {"m2m_100": "huggingface-m2m100", "mbart": "huggingface-mbart"}
    assert report.toolkit == kinds[made.model.config.model_type]
    names = {row: piece for piece, row in made.rows.items()}
    never = [
        [row] for row in range(made.model.config.vocab_size) if row not in names or row in {0, 1, 3}
    ]
    cut = made.model.generation_config.forced_eos_token_id is not None  # by the end symbol
    expected = []
    spm = sentencepiece.SentencePieceProcessor(str(made.folder / "sentencepiece.bpe.model"))
    for text in SOURCES:
        source = made.source(from_, spm.encode(text, out_type=str))
        with torch.inference_mode():
            (found,) = made.model.generate(
                torch.tensor([source]), forced_bos_token_id=made.codes[into], num_beams=1,
                do_sample=False, max_length=14 + cut, bad_words_ids=never,
            )  # fmt: skip
        pieces = [names[int(row)] for row in found[2:] if int(row) != 2]
        expected.append(spm.decode(pieces))
    options: SystemOptions = {"source_language": from_, "target_language": into}
    with dragoman.load(tmp_path / "ours", **options) as translator:
        assert (
            translator.translate(SOURCES, beam=1, maximum_length=12, degenerate="keep") == expected
        )


class TestMbart:
    @pytest.mark.parametrize("scaled", [True, False])
    def test_every_position_is_the_same(self, tmp_path: Path, scaled: bool) -> None:
        """Sources and targets may fill the tables, of which the tag of the target takes a place."""
        made = mbart50(tmp_path / "x", max_position_embeddings=12, scale_embedding=scaled)
        read = importer_of(made.folder).read(made.folder, (None, None))
        model, vocabulary = built(read), read.vocabularies.target
        assert model.position_limit == 11
        pieces = sorted(made.rows)[:9]
        ours = vocabulary.ids(pieces)
        tags = vocabulary.ids(["<2ko_KR>", "<2de_DE>"])
        source = torch.tensor([[*tags, *ours, EOS]])
        with torch.inference_mode():
            memory = model.encode(source, torch.ones_like(source, dtype=torch.bool))
            inputs = torch.tensor([[BOS, *ours, ours[0]]])
            found = model.logits(model.decode(inputs, memory, model.start(memory))[0])[0]
        target = [made.rows[piece] for piece in [*pieces, pieces[0]]]
        expected = theirs(made, made.source("de_DE", pieces), "ko_KR", target)
        columns = ours, [made.rows[piece] for piece in pieces]
        torch.testing.assert_close(
            found[:, columns[0]], expected[:, columns[1]], atol=1e-4, rtol=1e-4
        )

    def test_languages_need_not_be_listed(self, tmp_path: Path) -> None:
        made = mbart50(tmp_path / "x")
        listed = importer_of(made.folder).read(made.folder, (None, None)).config
        for file in ("tokenizer_config.json", "tokenizer.json"):
            (made.folder / file).unlink()
        read = importer_of(made.folder).read(made.folder, (None, None))
        assert read.config == listed
        names = [direction.target_language for direction in listed.directions]
        assert names == sorted(made.codes, key=made.codes.__getitem__)
        (number,) = read.vocabularies.source.ids(["<2ko_KR>"])
        torch.testing.assert_close(
            read.weights["source_embedding.weight"][number],
            made.model.model.shared.weight[made.codes["ko_KR"]],
        )

    @pytest.mark.parametrize(
        ("file", "values", "problem"),
        [
            ("config.json", {"decoder_start_token_id": 63}, "this is mBART-25"),
            ("tokenizer_config.json", {"tokenizer_class": "MBartTokenizer"}, "this is mBART-25"),
            ("config.json", {"normalize_embedding": False}, "normalize_embedding: false is not"),
            ("generation_config.json", {"forced_bos_token_id": 9}, "9 begins every output"),
            ("config.json", {"vocab_size": 79}, "number [0-9]+ pieces, the model has 79"),
        ],
    )
    def test_what_another_model_has_is_refused(
        self, tmp_path: Path, file: str, values: dict[str, object], problem: str
    ) -> None:
        made = mbart50(tmp_path / "x")
        path = made.folder / file
        (made.folder / "generation_config.json").write_text("{}")
        path.write_text(json.dumps(json.loads(path.read_text()) | values))
        with pytest.raises((ConfigError, DataError), match=problem):
            import_model(made.folder, tmp_path / "ours")
        assert not (tmp_path / "ours").exists()

    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("model.encoder.layernorm_embedding.weight", "layernorm_embedding.weight"),
            ("model.decoder.embed_positions.weight", "embed_positions.weight"),
        ],
    )
    def test_a_lacking_weight_is_named(self, tmp_path: Path, name: str, problem: str) -> None:
        made = mbart50(tmp_path / "x")
        file = made.folder / "model.safetensors"
        weights = load_file(file)
        del weights[name]
        save_file(weights, file)
        with pytest.raises(DataError, match=problem):
            import_model(made.folder, tmp_path / "ours")

    def test_short_codes_mean_the_models_own(self, tmp_path: Path) -> None:
        made = mbart50(tmp_path / "x")
        import_model(made.folder, tmp_path / "ours")
        with dragoman.load(tmp_path / "ours", source_language="en", target_language="ko") as ours:
            assert ours.tags == ("<2ko_KR>", "<2en_XX>")


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    nllb(folder / "nllb")
    import_model(folder / "nllb", folder / "ours")
    return folder / "ours"


class TestLanguages:
    @pytest.mark.parametrize(
        ("short", "names"),
        [
            (("en", "ko"), ("eng_Latn", "kor_Hang")),
            (("de", "zh"), ("deu_Latn", "zho_Hans")),
            (("eng_Latn", "zh-Hant"), ("eng_Latn", "zho_Hant")),
        ],
    )
    def test_short_codes_mean_the_models_own(
        self, ours: Path, short: tuple[str, str], names: tuple[str, str]
    ) -> None:
        found = []
        for source, target in (short, names):
            options: SystemOptions = {"source_language": source, "target_language": target}
            with dragoman.load(ours, **options) as translator:
                found.append((translator.tags, translator.translate(["the house"])))
        assert found[0] == found[1]
        assert found[0][0] == (f"<2{names[1]}>", f"<2{names[0]}>")

    def test_both_must_be_told(self, ours: Path) -> None:
        with pytest.raises(ConfigError, match="told the source language; name it with --from"):
            dragoman.load(ours, target_language="ko")
        with pytest.raises(ConfigError, match="told the target language; name it with --to"):
            dragoman.load(ours, source_language="ko")

    def test_tags_in_front_of_a_text_name_both(self, ours: Path) -> None:
        options: SystemOptions = {"source_language": "en", "target_language": "ko"}
        with dragoman.load(ours, **options) as told, dragoman.load(ours) as translator:
            tagged = translator.translate(["<2kor_Hang> <2eng_Latn> the house"])
            assert tagged == told.translate(["the house"])

    def test_a_domain_takes_the_tags_of_both(self, ours: Path) -> None:
        parent = ParentModel.open(ours)
        found = parent.direction_for(("en", "de"), "corrections.tsv")
        assert (found.name, found.tags) == ("eng_Latn-deu_Latn", ("<2deu_Latn>", "<2eng_Latn>"))
        assert parent.nearest_direction(found) == found
        with pytest.raises(ConfigError, match=r"corrections\.tsv: .* has no language fr"):
            parent.direction_for(("en", "fr"), "corrections.tsv")
        with dragoman.load(ours, tags=found.tags) as translator:
            assert translator.tags == found.tags

    @pytest.mark.parametrize("side", ["source_language", "target_language"])
    def test_unknown_ones_are_refused(self, ours: Path, side: str) -> None:
        languages: SystemOptions = {"source_language": "en", "target_language": "ko"}
        languages[side] = "fr"  # type: ignore[literal-required]
        with pytest.raises(
            ConfigError, match=r"does not translate (from|into) fr; languages there"
        ):
            dragoman.load(ours, **languages)


class TestSpecialCases:
    def test_weights_in_half_precision_and_shards(self, tmp_path: Path) -> None:
        made = nllb(tmp_path / "nllb")
        made.model.half().save_pretrained(tmp_path / "nllb", max_shard_size="20KB")
        (tmp_path / "nllb" / "model.safetensors").unlink()
        read = importer_from("huggingface-m2m100").read(made.folder, (None, None))
        expected = made.model.float().model.shared.weight
        row = made.rows["▁the"]
        (number,) = read.vocabularies.source.ids(["▁the"])
        found = read.weights["source_embedding.weight"][number]
        assert sorted(found.tolist()) == pytest.approx(sorted(expected[row].tolist()))

    def test_a_forced_language_is_no_language_of_every_output(self, tmp_path: Path) -> None:
        made = nllb(tmp_path / "nllb")
        file = made.folder / "generation_config.json"
        values = json.loads(file.read_text()) | {"forced_bos_token_id": made.codes["kor_Hang"]}
        file.write_text(json.dumps(values))
        importer_from("huggingface-m2m100").read(made.folder, (None, None))
        file.write_text(json.dumps(values | {"forced_bos_token_id": 9}))
        with pytest.raises(ConfigError, match="forced_bos_token_id: 9 begins every output"):
            importer_from("huggingface-m2m100").read(made.folder, (None, None))

    def test_unscaled_embeddings(self, tmp_path: Path) -> None:
        nllb(tmp_path / "nllb", scale_embedding=False)
        read = importer_of(tmp_path / "nllb").read(tmp_path / "nllb", (None, None))
        assert not read.config.model.embedding.scale_embeddings  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        ("name", "content", "problem"),
        [
            ("special_tokens_map.json", "{}", "lists the codes of its languages"),
            ("sentencepiece.bpe.model", "x", "not a sentencepiece model"),
            ("config.json", '{"model_type": "t5"}', "expected 'm2m_100'"),
            ("model.safetensors", "x", "model.safetensors"),
        ],
    )
    def test_what_is_damaged_is_named(
        self, tmp_path: Path, name: str, content: str, problem: str
    ) -> None:
        nllb(tmp_path / "nllb")
        for file in ("tokenizer_config.json", "tokenizer.json"):
            (tmp_path / "nllb" / file).unlink(missing_ok=True)
        (tmp_path / "nllb" / name).write_text(content)
        with pytest.raises(DataError, match=problem):
            import_model(tmp_path / "nllb", tmp_path / "ours", toolkit="huggingface-m2m100")
        assert not (tmp_path / "ours").exists()

    def test_a_vocabulary_of_another_model(self, tmp_path: Path) -> None:
        nllb(tmp_path / "nllb")
        random_model(40).save_pretrained(tmp_path / "nllb")
        with pytest.raises(DataError, match="the model has 40; they do not belong together"):
            import_model(tmp_path / "nllb", tmp_path / "ours")

    def test_a_language_that_it_lacks(self, tmp_path: Path) -> None:
        nllb(tmp_path / "nllb")
        with pytest.raises(ConfigError, match="no language fra_Latn"):
            import_model(tmp_path / "nllb", tmp_path / "x", languages=("eng_Latn", "fra_Latn"))
