"""Tiny models of fairseq, made by ``models/make_fairseq.py``."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from imported_models import MODELS, built, logits
from numbered_cases import cases, largest_gap, pieces, same_texts, source_ids, starts_silently
from torch import nn

from dragoman.core.errors import ConfigError, DataError
from dragoman.exchange.importing import import_model, importer_from, importer_of
from dragoman.exchange.interface import ForeignModel
from dragoman.exchange.pickled import read_pickled
from dragoman.text.vocabularies.listed_vocabulary import ListedVocabulary
from dragoman.text.vocabularies.splitting import SubwordNmt

pytest.importorskip("sacremoses")
pytest.importorskip("subword_nmt")

FAIRSEQ = MODELS / "fairseq"
NAMES = ["moses", "sentencepiece"]
EN_DE = ("en", "de")


def numbers(folder: Path, language: str) -> dict[str, int]:
    """By the rule of fairseq; outputs begin with ``</s>``, and ``<s>`` is a piece like others."""
    lines = (folder / f"dict.{language}.txt").read_text(encoding="utf-8").splitlines()
    names = ["<s_>", "<pad>", "</s>", "<unk>", *(line.rsplit(" ", 1)[0] for line in lines)]
    return {piece: number for number, piece in enumerate(names)}


def read(path: Path, languages: tuple[str | None, str | None] = EN_DE) -> ForeignModel:
    return importer_from("fairseq").read(path, languages)


@pytest.mark.parametrize("name", NAMES)
def test_logits_are_those_of_fairseq(name: str) -> None:
    folder = FAIRSEQ / name
    found = read(folder)
    assert largest_gap(found, folder, numbers(folder, "en"), numbers(folder, "de")) < 1e-4
    assert starts_silently(found)


@pytest.mark.parametrize("name", NAMES)
def test_text_is_split_as_in_its_own_interface(name: str) -> None:
    folder = FAIRSEQ / name
    found = read(folder)
    for case in cases(folder):
        assert source_ids(found, case["text"], numbers(folder, "en")) == case["source"]


@pytest.mark.parametrize("name", NAMES)
def test_greedy_translations_are_those_of_fairseq(name: str, tmp_path: Path) -> None:
    report = import_model(FAIRSEQ / name, tmp_path / "model", languages=EN_DE)
    assert (report.toolkit, report.source_language, report.target_language) == ("fairseq", *EN_DE)
    assert same_texts(tmp_path / "model", FAIRSEQ / name) >= 5


def test_what_the_files_say_is_kept() -> None:
    moses, other = (read(FAIRSEQ / name).config.model.model_dump() for name in NAMES)
    assert (moses["embeddings"], other["embeddings"]) == ("shared", "target")
    assert (moses["norm"], other["norm"]) == ("post", "pre")
    assert (moses["positions"], other["positions"]) == ("sinusoidal", "learned")
    assert other["max_positions"] == 30  # the shorter of both sides
    assert (moses["activation"], other["activation"]) == ("relu", "gelu")
    assert (moses["scale_embeddings"], other["scale_embeddings"]) == (True, False)


def test_outputs_are_not_empty_as_there() -> None:
    """Its search does not end an output before the first piece."""
    assert read(FAIRSEQ / "moses").config.search["minimum_length"] == 1


def changed(tmp_path: Path, change: Callable[[dict[str, Any]], None], name: str = "moses") -> Path:
    """A copy of a model whose checkpoint is changed."""
    folder = tmp_path / "model"
    shutil.copytree(FAIRSEQ / name, folder)
    checkpoint = read_pickled(folder / "model.pt")
    change(checkpoint)
    torch.save(checkpoint, folder / "model.pt")
    return folder


def test_normalised_embeddings_are_those_of_mbart(tmp_path: Path) -> None:
    """Hugging Face's MBart is a port of fairseq's, with the same names of weights."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(5)

    def normalise(checkpoint: dict[str, Any]) -> None:
        for side, part in product(("encoder", "decoder"), ("weight", "bias")):
            checkpoint["model"][f"{side}.layernorm_embedding.{part}"] = torch.randn(12)

    folder = changed(tmp_path, normalise, "sentencepiece")
    weights = read_pickled(folder / "model.pt")["model"]
    sizes = {
        f"{side}_{name}": value
        for side, layers in (("encoder", 1), ("decoder", 1))
        for name, value in (("layers", layers), ("ffn_dim", 14), ("attention_heads", 2))
    }
    config = transformers.MBartConfig(
        vocab_size=len(weights["decoder.embed_tokens.weight"]), d_model=12, **sizes,
        max_position_embeddings=len(weights["decoder.embed_positions.weight"]) - 2,
        activation_function="gelu", tie_word_embeddings=False,
    )  # fmt: skip
    theirs = transformers.MBartForConditionalGeneration(config).eval()
    encoder = theirs.model.encoder
    for name in ("embed_tokens", "embed_positions"):
        getattr(encoder, name).weight = nn.Parameter(weights[f"encoder.{name}.weight"])
    named = {f"model.{name}": tensor for name, tensor in weights.items() if "version" not in name}
    named["lm_head.weight"] = named.pop("model.decoder.output_projection.weight")
    missing, unexpected = theirs.load_state_dict(named, strict=False)
    assert not unexpected
    assert set(missing) <= {"model.shared.weight", "final_logits_bias"}
    found = read(folder)
    model, sides = built(found), found.vocabularies
    names = numbers(folder, "en"), numbers(folder, "de")
    for case in cases(folder)[:4]:
        ours = sides.source.encode(case["text"])
        ids = torch.tensor([source_ids(found, case["text"], names[0])])
        written = {piece: names[1][piece] for _, piece in pieces(sides.target) if piece in names[1]}
        target = [i for i in case["target"] if i > 3]
        pieces_there = {i: piece for piece, i in written.items()}
        inputs = sides.target.ids(pieces_there[i] for i in target)
        with torch.inference_mode():
            expected = theirs(ids, decoder_input_ids=torch.tensor([[2, *target]])).logits[0]
        scores = logits(model, ours, inputs)
        columns = sides.target.ids(written), list(written.values())
        torch.testing.assert_close(
            scores[:, columns[0]], expected[:, columns[1]], atol=1e-4, rtol=1e-4
        )


def as_in_version_0_6(checkpoint: dict[str, Any]) -> None:
    """``args`` in place of ``cfg``, and queries, keys and values in one matrix."""
    checkpoint["args"] = Namespace(
        **{**checkpoint["cfg"]["task"], **vars(checkpoint.pop("cfg")["model"])}
    )
    weights = checkpoint["model"]
    for name in [name for name in weights if name.endswith("self_attn.q_proj.weight")]:
        stem = name.removesuffix("q_proj.weight")
        for kind in ("weight", "bias"):
            parts = [weights.pop(f"{stem}{letter}_proj.{kind}") for letter in "qkv"]
            weights[f"{stem}in_proj_{kind}"] = torch.cat(parts)
    weights["decoder.embed_out"] = weights.pop("decoder.output_projection.weight")
    weights["encoder.embed_positions._float_tensor"] = torch.zeros(1)


def test_older_checkpoints_are_the_same_model(tmp_path: Path) -> None:
    older = read(changed(tmp_path, as_in_version_0_6))
    new = read(FAIRSEQ / "moses")
    assert older.config == new.config
    assert older.weights.keys() == new.weights.keys()
    assert all(torch.equal(older.weights[name], new.weights[name]) for name in new.weights)


@pytest.mark.parametrize("shape", [(), (4, 12)])
def test_joined_projections_of_no_three_parts_are_refused(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    def change(checkpoint: dict[str, Any]) -> None:
        as_in_version_0_6(checkpoint)
        checkpoint["model"]["encoder.layers.0.self_attn.in_proj_weight"] = torch.zeros(shape)

    with pytest.raises(DataError, match=r"model\.pt: encoder.*in_proj_weight has the shape \["):
        read(changed(tmp_path, change))


def set_option(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(checkpoint: dict[str, Any]) -> None:
        setattr(checkpoint["cfg"]["model"], name, value)

    return change


def set_task(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(checkpoint: dict[str, Any]) -> None:
        checkpoint["cfg"]["task"][name] = value

    return change


def add_weight(name: str) -> Callable[[dict[str, Any]], None]:
    def change(checkpoint: dict[str, Any]) -> None:
        checkpoint["model"][name] = torch.zeros(12)

    return change


@pytest.mark.parametrize(
    ("change", "error", "reason"),
    [
        (set_option("activation_fn", "tanh"), ConfigError, "activation_fn: 'tanh' is not known"),
        (set_option("decoder_attention_heads", 3), ConfigError, r"heads \(2\) and .* \(3\) differ"),
        (set_option("cross_self_attention", True), ConfigError, "cross_self_attention: True"),
        (set_option("encoder_layers", "two"), DataError, "encoder_layers: expected int, found"),
        (set_option("encoder_layers", 3), DataError, r"the weight encoder\.layers\.2\."),
        (set_option("encoder_layers", 1), ConfigError, r"has the weight encoder\.layers\.1\."),
        (set_task("encoder_langtok", "src"), ConfigError, "encoder_langtok: 'src' cannot be imp"),
        (
            set_task("decoder_langtok", True),
            ConfigError,
            "decoder_langtok: True cannot be imp",
        ),
        (set_task("prepend_bos", True), ConfigError, "prepend_bos: True cannot be imported"),
        (set_task("source_lang", ["en"]), DataError, r"source_lang: expected str, found \['en'\]"),
        (set_option("simul_type", "waitk"), ConfigError, "simul_type: 'waitk' cannot be imported"),
        (
            set_option("activation_fn", torch.ones(2)),
            DataError,
            "activation_fn: a tensor is no",
        ),
        (
            add_weight("encoder.layernorm_embedding.weight"),
            ConfigError,
            "only one of encoder and decoder normalises embeddings",
        ),
        (add_weight("encoder.layer_norm.weight"), ConfigError, "only one of encoder and decoder"),
        (lambda one: one.pop("model"), DataError, "no checkpoint of fairseq"),
        (lambda one: one.update(cfg=None), DataError, "neither 'args' nor 'cfg'"),
    ],
)
def test_what_is_not_known_is_refused(
    change: Callable[[dict[str, Any]], None], error: type[Exception], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=f"model.pt: .*{reason}"):
        read(changed(tmp_path, change))


def test_files_that_are_missing_or_damaged_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FAIRSEQ / "moses", folder)
    with pytest.raises(DataError, match="nothing says which language is the source"):
        read(folder, (None, None))
    with pytest.raises(DataError, match=r"no dictionary dict\.fr\.txt of the target"):
        read(folder, ("en", "fr"))
    assert importer_of(folder).name == "fairseq"
    (folder / "bpecodes").unlink()
    with pytest.raises(DataError, match="no file here says how text is split"):
        read(folder)
    for text, reason in (("the 3\nold\n", "line 2: 'old'"), ("a 1\na 1\n", "line 2: 'a' is there")):
        (folder / "dict.de.txt").write_text(text)
        with pytest.raises(DataError, match=rf"dict\.de\.txt: {reason}"):
            read(folder)
    (folder / "model.pt").write_bytes(b"PK\x03\x04 not a checkpoint")
    with pytest.raises(DataError, match=r"model\.pt: damaged"):
        read(folder)
    (folder / "model.pt").unlink()
    with pytest.raises(DataError, match="no checkpoint of fairseq here"):
        read(folder)


def test_a_merge_may_have_any_character_but_a_line_feed(tmp_path: Path) -> None:
    """Text from the web has next lines and line separators within words, and so have its merges."""
    folder = tmp_path / "model"
    shutil.copytree(FAIRSEQ / "moses", folder)
    with (folder / "bpecodes").open("a", encoding="utf-8", newline="") as stream:
        stream.write("a \x85</w>\n\u2028 \x1c</w>\n")
    source = read(folder).vocabularies.source
    assert isinstance(source, ListedVocabulary)
    assert isinstance(source.content.splitting, SubwordNmt)
    codes = source.content.splitting.codes
    assert codes is not None
    assert codes[-2:] == ("a \x85</w>", "\u2028 \x1c</w>")


def test_dictionaries_of_another_model_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FAIRSEQ / "moses", folder)
    lines = (folder / "dict.en.txt").read_text().splitlines(keepends=True)
    for language in EN_DE:
        (folder / f"dict.{language}.txt").write_text("".join(lines[:-1]))
    with pytest.raises(DataError, match="its files do not belong together"):
        read(folder)


def test_a_piece_that_is_overwritten_has_the_later_row(tmp_path: Path) -> None:
    """As in fairseq: a line with the flag is a row of its own, and pieces after it keep theirs."""

    def longer(checkpoint: dict[str, Any]) -> None:
        weights = checkpoint["model"]
        for name in weights:
            if name.endswith(("embed_tokens.weight", "output_projection.weight")):
                rows = torch.ones(2, 12) * torch.tensor([[2.0], [3.0]])
                weights[name] = torch.cat([weights[name], rows])

    folder = changed(tmp_path, longer)
    for language in EN_DE:
        with (folder / f"dict.{language}.txt").open("a", encoding="utf-8") as stream:
            stream.write("the 9 #fairseq:overwrite\nafter 1\n")
    found = read(folder)
    table = found.weights["source_embedding.weight"]
    the, after = found.vocabularies.source.ids(["the", "after"])
    assert table[[the, after]].tolist() == [[2.0] * 12, [3.0] * 12]


def test_of_several_checkpoints_one_must_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(FAIRSEQ / "moses", folder)
    shutil.copy(folder / "model.pt", folder / "model2.pt")
    (folder / "model.pt").rename(folder / "model1.pt")
    with pytest.raises(DataError, match=r"several models \(model1\.pt, model2\.pt\)"):
        read(folder)
    assert read(folder / "model2.pt").origin == "fairseq, model2.pt"
