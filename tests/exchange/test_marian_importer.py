"""Models of Marian: those of our exporter, and random ones by Marian's own names and formulas."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
import yaml
from imported_models import built, logits
from tiny_model import save_tiny_model

import dragoman
from dragoman.core.errors import ConfigError, DataError, DragomanError
from dragoman.exchange.exporting import export_model
from dragoman.exchange.importing import import_model, importer_from, importer_of
from dragoman.exchange.marian_binary import read_binary_weights
from dragoman.exchange.marian_files import OPTIONS_NAME, read_npz
from dragoman.exchange.marian_formulas import MarianTransformer
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import load_model
from dragoman.saved.shortlist import read_shortlist
from dragoman.text.vocabularies import BOS
from studies.marian.binary import to_binary

LINES = [
    "the little house by the lake",
    "ein kleines Haus am See",
    "das Wetter ist gut",
    "a b c d e",
]
SIZES: dict[str, Any] = {
    "encoder_layers": 2, "decoder_layers": 2, "d_model": 8, "d_ff": 12, "heads": 2,
    "timescales": "tensor2tensor", "begin": "zeros", "norm_epsilon": 1e-6,
}  # fmt: skip
OPTIONS: dict[str, Any] = {
    "version": "v1.9.0 ba94c5b 2020-05-17", "type": "transformer", "dim-emb": 8, "enc-depth": 2,
    "dec-depth": 2, "transformer-heads": 2, "transformer-dim-ffn": 12,
    "transformer-ffn-activation": "swish", "transformer-preprocess": "",
    "transformer-postprocess": "dan", "transformer-postprocess-top": "",
    "transformer-decoder-autoreg": "self-attention", "dec-cell": "gru", "output-omit-bias": False,
    "tied-embeddings-all": True, "tied-embeddings-src": False, "tied-embeddings": False,
}  # fmt: skip
PRE = {"transformer-preprocess": "n", "transformer-postprocess": "da"}
SSRU = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
UNTIED = {"tied-embeddings-all": False}


def trained(lines: Sequence[str] = LINES) -> bytes:
    """As Marian trains it: the end symbol first, no begin and no padding."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*lines] * 5), model_writer=model, vocab_size=50, eos_id=0, unk_id=1,
        bos_id=-1, pad_id=-1, model_type="unigram", hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


def drawn(options: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Random weights by the names that Marian gives them."""
    generator = np.random.default_rng(1)
    width, inner = options["dim-emb"], options["transformer-dim-ffn"]
    pre = "n" in options["transformer-preprocess"]
    weights: dict[str, Any] = {}

    def draw(name: str, *shape: int) -> None:
        weights[name] = generator.normal(0, 0.4, shape).astype(np.float32)

    def norm(prefix: str, place: str) -> None:
        draw(f"{prefix}_ln_scale{place}", 1, width)
        draw(f"{prefix}_ln_bias{place}", 1, width)

    place = "_pre" if pre else ""
    for side, depth in (("encoder", options["enc-depth"]), ("decoder", options["dec-depth"])):
        for number in range(1, depth + 1):
            layer = f"{side}_l{number}"
            ssru = side == "decoder" and options["transformer-decoder-autoreg"] == "rnn"
            if ssru:
                draw(f"{layer}_rnn_W", width, width)
                draw(f"{layer}_rnn_Wf", width, width)
                draw(f"{layer}_rnn_bf", 1, width)
                norm(f"{layer}_rnn" if pre else f"{layer}_rnn_ffn", place)
            own = [] if ssru else ["self"]
            for attention in [*own, "context"] if side == "decoder" else own:
                for part in "qkvo":
                    draw(f"{layer}_{attention}_W{part}", width, width)
                    draw(f"{layer}_{attention}_b{part}", 1, width)
                norm(f"{layer}_{attention}_Wo", place)
            draw(f"{layer}_ffn_W1", width, inner)
            draw(f"{layer}_ffn_b1", 1, inner)
            draw(f"{layer}_ffn_W2", inner, width)
            draw(f"{layer}_ffn_b2", 1, width)
            norm(f"{layer}_ffn_ffn", place)
        if "n" in options["transformer-postprocess-top"]:
            norm(f"{side}_top", "")
    source, target = options["dim-vocabs"]
    if options["tied-embeddings-all"] or options["tied-embeddings-src"]:
        draw("Wemb", source, width)
    else:
        draw("encoder_Wemb", source, width)
        draw("decoder_Wemb", target, width)
    if not options["tied-embeddings-all"] and not options["tied-embeddings"]:
        draw("decoder_ff_logit_out_W", width, target)
    if not options["output-omit-bias"]:
        draw("decoder_ff_logit_out_b", 1, target)
    return weights


def save_npz(file: Path, weights: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    text = yaml.safe_dump(dict(options)).encode() + b"\0"
    special: dict[str, Any] = {OPTIONS_NAME: np.frombuffer(text, np.int8)}
    np.savez(file, **weights, **special)


@dataclass(frozen=True)
class Made:
    folder: Path
    rows: tuple[dict[str, int], dict[str, int]]
    """Of the pieces of source and target."""

    @property
    def npz(self) -> Path:
        return self.folder / "model.npz"


def made(folder: Path, **values: Any) -> Made:
    """A model with one ``vocab.spm``, or with two of different sizes if nothing shares a matrix."""
    options = {**OPTIONS, **values}
    folder.mkdir()
    apart = not options["tied-embeddings-all"] and not options["tied-embeddings-src"]
    models = [trained(), trained(LINES[1:]) if apart else trained()]
    names = ["vocab.en.spm", "vocab.de.spm"] if apart else ["vocab.spm", "vocab.spm"]
    for name, model in zip(names, models, strict=True):
        (folder / name).write_bytes(model)
    rows = []
    for model in models:
        spm = sentencepiece.SentencePieceProcessor(model_proto=model)
        rows.append({spm.id_to_piece(row): row for row in range(len(spm))})
    options["dim-vocabs"] = [len(side) for side in rows]
    assert (rows[0] == rows[1]) != apart
    save_npz(folder / "model.npz", drawn(options), options)
    decoder = {"models": ["/their/model.npz"], "vocabs": names, "beam-size": 6, "normalize": 1}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    return Made(folder, (rows[0], rows[1]))


def opus(folder: Path) -> Made:
    """As OPUS publishes OPUS-MT of several languages, packed flat."""
    folder.mkdir()
    models = trained(), trained(LINES[1:])
    pieces = [">>deu<<", ">>fra<<"]
    for name, model in zip(("source.spm", "target.spm"), models, strict=True):
        (folder / name).write_bytes(model)
        spm = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces += [spm.id_to_piece(row) for row in range(2, len(spm))]
    rows = {piece: row for row, piece in enumerate(dict.fromkeys(["</s>", "<unk>", *pieces]))}
    (folder / "opus.spm32k-spm32k.vocab.yml").write_text(yaml.safe_dump(rows, allow_unicode=True))
    options = {**OPTIONS, "dim-vocabs": [len(rows), len(rows)]}
    save_npz(folder / "opus.model1.npz.best.npz", drawn(options), options)
    save_npz(folder / "opus.model1.npz.optimizer.npz", {}, {})
    vocabulary = "opus.spm32k-spm32k.vocab.yml"
    decoder = {"models": ["opus.model1.npz.best.npz"], "vocabs": [vocabulary] * 2, "beam-size": 6}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    (folder / "LICENSE").write_text("\nAttribution 4.0 International\n\n====\n")
    (folder / "preprocess.sh").write_text("exit 1\n")
    card = "* dataset: opus\n* model: transformer\n* source language(s): eng\n"
    (folder / "README.md").write_text(f"{card}* target language(s): deu fra\n")
    return Made(folder, (rows, rows))


def largest_gap(path: Path, npz: Path, rows: tuple[dict[str, int], dict[str, int]]) -> float:
    """Of log-probabilities from Marian's formulas, over the pieces that both can put out."""
    read = importer_from("marian").read(path, (None, None))
    model, (source, target) = built(read), read.vocabularies
    formulas = MarianTransformer(*read_npz(npz))
    names = target.pieces(range(len(target)))
    columns = [number for number, piece in enumerate(names) if piece in rows[1] and number != BOS]
    assert len(columns) > 20
    theirs = [rows[1][names[number]] for number in columns]
    gaps = []
    for text, wanted in (("the little house", columns[5:9]), ("das See", columns[12:13]), ("", [])):
        ids = source.encode(text)
        source_rows = [rows[0][piece] for piece in source.pieces(ids)]
        target_rows = [rows[1][names[number]] for number in wanted]
        expected = formulas.log_probabilities(
            [*source_rows, rows[0]["</s>"]], [*target_rows, rows[1]["</s>"]]
        )
        found = logits(model, ids, wanted)[:, columns].log_softmax(-1)
        there = torch.tensor(expected[:, theirs]).log_softmax(-1)
        gaps.append((found - there).abs().max().item())
    return max(gaps)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {**UNTIED, "tied-embeddings": True, "transformer-ffn-activation": "relu"},
        {**UNTIED, **PRE, "transformer-postprocess-top": "n"},
        {**UNTIED, "tied-embeddings-src": True, "output-omit-bias": True},
        {**SSRU},
        {**SSRU, **PRE, **UNTIED, "transformer-preprocess": "dn"},
    ],
)
def test_marians_formulas_give_the_same(values: dict[str, Any], tmp_path: Path) -> None:
    model = made(tmp_path / "m", **values)
    assert largest_gap(model.folder, model.npz, model.rows) < 1e-4
    notes = importer_from("marian").read(model.folder, (None, None)).notes
    assert any("Marian while it translates" in one for one in notes) == bool(
        values.get("transformer-preprocess")
    )


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"embeddings": "separate", "activation": "swish", "output_bias": True},
        {"embeddings": "target", "attention_bias": True, "final_norm": True},
    ],
)
def test_what_was_exported_comes_back(values: dict[str, Any], tmp_path: Path) -> None:
    config = TransformerConfig(**{**SIZES, **values})
    path = save_tiny_model(tmp_path / "m", config=config, seed=3, extra_length=50)
    export_model(path, "marian", tmp_path / "out")
    report = import_model(tmp_path / "out", tmp_path / "ours", languages=("en", "de"))
    assert (report.toolkit, report.target_language) == ("marian", "de")
    first, second = (load_model(one, "cpu") for one in (path, tmp_path / "ours"))
    weights, found = first.model.state_dict(), second.model.state_dict()
    for name, tensor in weights.items():
        if name != "output.bias":  # the begin symbol can never be put out
            assert torch.equal(found[name], tensor), name
    added = {name for name in found.keys() - weights.keys() if found[name].any()}
    assert added <= {"output.bias"}
    columns = [number for number in range(len(first.vocabularies.target)) if number != BOS]
    for source, target in (([5, 6, 7], [8, 9]), ([9], [4, 5, 6])):
        expected, ours = (logits(one.model.eval(), source, target) for one in (first, second))
        torch.testing.assert_close(ours[:, columns], expected[:, columns], atol=1e-4, rtol=1e-4)
    texts = []
    for directory in (path, tmp_path / "ours"):
        with dragoman.load(directory) as translator:
            options: dict[str, Any] = {"beam": 1, "maximum_length": 12, "degenerate": "keep"}
            texts.append(translator.translate(["a b c", "d", "e e d c b a"], **options))
    assert texts[0] == texts[1]


class TestOpus:
    def test_its_formulas_and_files(self, tmp_path: Path) -> None:
        model = opus(tmp_path / "opus")
        assert largest_gap(model.folder, next(model.folder.glob("*best.npz")), model.rows) < 1e-4

    def test_the_archive_is_its_directory(self, tmp_path: Path) -> None:
        model = opus(tmp_path / "opus")
        with zipfile.ZipFile(tmp_path / "opus-2020.zip", "w") as archive:
            for file in model.folder.iterdir():
                archive.write(file, file.name)
        report = import_model(tmp_path / "opus-2020.zip", tmp_path / "ours")
        assert report.origin == "Marian (v1.9.0), opus-2020.zip"
        assert any("preprocess.sh is not run" in note for note in report.notes)
        assert (
            "Licence: Attribution 4.0 International." in (tmp_path / "ours/README.md").read_text()
        )
        whole, packed = (
            importer_of(path).read(path, (None, None))
            for path in (model.folder, tmp_path / "opus-2020.zip")
        )
        assert whole.weights.keys() == packed.weights.keys()
        assert all(torch.equal(whole.weights[name], packed.weights[name]) for name in whole.weights)
        found = packed.config
        assert (found.search["beam"], found.source_language) == (6, "eng")
        assert [one.name for one in found.directions] == ["eng-deu", "eng-fra"]
        with dragoman.load(tmp_path / "ours", target_language="fra") as translator:
            assert translator.tags == ("<2fra>",)

    def test_an_archive_of_something_else(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
            archive.writestr("a.txt", "a")
        with pytest.raises(DataError, match=r"no model of Marian, which has one decoder\.yml"):
            import_model(tmp_path / "photos.zip", tmp_path / "ours")


def firefox(folder: Path, *, apart: bool = False, **values: Any) -> Made:
    """As Firefox has its models: a student in int8, without ``decoder.yml``."""
    values = {**SSRU, **(UNTIED if apart else {}), "tied-embeddings": apart, **values}
    model = made(folder, **values)
    weights, options = read_npz(model.npz)
    (folder / "decoder.yml").unlink()
    (folder / "model.enko.intgemm.alphas.bin").write_bytes(in_int8(weights, options))
    names = ("srcvocab", "trgvocab") if apart else ("vocab",)
    files = ("vocab.en.spm", "vocab.de.spm") if apart else ("vocab.spm",)
    for theirs, ours in zip(names, files, strict=True):
        (folder / ours).rename(folder / f"{theirs}.enko.spm")
    return model


def in_int8(weights: Mapping[str, Any], options: Mapping[str, Any], kind: int = 0x4101) -> bytes:
    """A binary model; the weights become the numbers that int8 can hold."""
    items: list[tuple[str, int, tuple[int, ...], bytes]] = []
    for name, array in weights.items():
        if name.endswith(("_W", "_Wf", "_W1", "_W2", "_Wq", "_Wk", "_Wv", "_Wo", "Wemb")):
            scale = np.float32(127 / np.abs(array).max())
            whole = np.rint(array * scale).astype(np.int8)
            array[:] = whole / scale  # for what is expected
            lies = whole if "Wemb" in name else whole.T
            items.append((name, kind, array.shape, lies.tobytes() + scale.tobytes()))
            items.append((f"{name}_QuantMultA", 0x404, (1, 1), scale.tobytes()))
        else:
            items.append((name, 0x404, array.shape, array.tobytes()))
    text = yaml.safe_dump(dict(options)).encode() + b"\0"
    items.append((OPTIONS_NAME, 0x101, (len(text),), text))
    padded = [content + b"\0" * (-len(content) % 256) for *_, content in items]
    binary = struct.pack("<QQ", 1, len(items))
    for (name, number, shape, _), content in zip(items, padded, strict=True):
        binary += struct.pack("<4Q", len(name) + 1, number, len(shape), len(content))
    binary += b"".join(name.encode() + b"\0" for name, *_ in items)
    binary += b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    gap = -(len(binary) + 8) % 256
    return binary + struct.pack("<Q", gap) + b"\0" * gap + b"".join(padded)


def test_marian_conv_of_version_1_12_has_another_number_for_int8(tmp_path: Path) -> None:
    """``pymarian convert --gemm-type intgemm8`` wrote 0x10001 with the same bytes after it."""
    read = []
    for kind in (0x4101, 0x10001):
        weights, options = read_npz(made(tmp_path / f"{kind}").npz)
        path = tmp_path / f"{kind}.bin"
        path.write_bytes(in_int8(weights, options, kind))
        read.append(read_binary_weights(path)[0])
        np.testing.assert_allclose(read[-1]["Wemb"], weights["Wemb"], atol=1e-6)
    for name, array in read[0].items():
        np.testing.assert_array_equal(read[1][name], array)


def lexical(first: int, lists: Sequence[Sequence[int]]) -> bytes:
    """A shortlist of Bergamot."""
    flat = [piece for one in lists for piece in one]
    starts = np.cumsum([0, *map(len, lists)])
    content = struct.pack("<4Q", first, 2, len(starts), len(flat))
    content += starts.astype("<u8").tobytes() + np.array(flat, "<u4").tobytes()
    digest = 0
    for (value,) in struct.iter_unpack("<Q", content[: len(content) // 8 * 8]):
        step = (value + 0x9E3779B9 + (digest << 6) + (digest >> 2)) % 2**64
        digest ^= step
    return struct.pack("<QQ", 0xF11A48D5013417F5, digest) + content


class TestFirefox:
    @pytest.mark.parametrize("apart", [False, True])
    def test_its_formulas_with_the_numbers_of_int8(self, apart: bool, tmp_path: Path) -> None:
        model = firefox(tmp_path / "m", apart=apart)
        weights, options = read_npz(model.npz)
        in_int8(weights, options)
        save_npz(tmp_path / "wide.npz", weights, options)
        model.npz.unlink()
        assert largest_gap(model.folder, tmp_path / "wide.npz", model.rows) < 1e-4
        report = import_model(model.folder, tmp_path / "ours")
        assert (report.source_language, report.target_language) == ("en", "ko")
        assert any("Weights in int8 are the same numbers" in note for note in report.notes)
        found = load_model(tmp_path / "ours", "cpu").config
        assert (found.search["beam"], found.search["length_penalty"]) == (1, 1.0)

    def test_floats_in_the_binary_form(self, tmp_path: Path) -> None:
        model = made(tmp_path / "m", **SSRU)
        first = importer_from("marian").read(model.folder, (None, None)).weights
        (model.folder / "model.bin").write_bytes(to_binary(model.npz))
        second = importer_from("marian").read(model.folder / "model.bin", (None, None)).weights
        assert all(torch.equal(first[name], second[name]) for name in first)

    @pytest.mark.parametrize("apart", [False, True])
    def test_the_shortlist_allows_what_it_does_there(self, apart: bool, tmp_path: Path) -> None:
        model = firefox(tmp_path / "m", apart=apart)
        model.npz.unlink()
        sizes = [len(rows) for rows in model.rows]
        lists = [[row % 7, 8 + row % 11] if row % 3 else [] for row in range(sizes[0])]
        (model.folder / "lex.50.50.enko.s2t.bin").write_bytes(lexical(5, lists))
        report = import_model(model.folder, tmp_path / "ours")
        assert any("Its lexical shortlist is kept" in note for note in report.notes)
        loaded = load_model(tmp_path / "ours", "cpu")
        source, target = loaded.vocabularies
        shortlist = read_shortlist(tmp_path / "ours" / "shortlist.safetensors", loaded.vocabularies)
        ids = source.encode("the little house")
        rows = [model.rows[0][piece] for piece in source.pieces(ids)]
        expected = {*range(5), *(each for row in rows for each in lists[row])}
        expected |= set() if apart else set(rows)
        (allowed,) = shortlist.allowed([ids], len(target))
        found = {*target.pieces(np.flatnonzero(allowed).tolist())} - {"<pad>", "<s>"}
        assert found == {piece for piece, row in model.rows[1].items() if row in expected}
        with dragoman.load(tmp_path / "ours", shortlist=True) as translator:
            assert len(translator.translate(["the house"], maximum_length=5)) == 1

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (lambda whole: b"x" + whole[1:], "no binary shortlist of Marian"),
            (lambda whole: whole[:-1], "truncated or damaged"),
            (lambda whole: whole[:20], "truncated or damaged"),
            (lambda whole: whole[:8] + b"x" + whole[9:], "its digest is another"),
            (lambda whole: whole[:48] + b"\xff" * 8 + whole[56:], "do not follow one another"),
            (lambda whole: lexical(1, [[99]]), "pieces that the vocabularies lack"),
            (lambda whole: lexical(1, [[1]] * 99), "pieces that the vocabularies lack"),
        ],
    )
    def test_damaged_shortlists(
        self, change: Callable[[bytes], bytes], problem: str, tmp_path: Path
    ) -> None:
        model = firefox(tmp_path / "m")
        model.npz.unlink()
        (model.folder / "lex.s2t.bin").write_bytes(change(lexical(1, [[1, 2], [3]])))
        TestFiles.refused(model.folder, tmp_path / "ours", problem)

    @pytest.mark.parametrize(
        ("place", "content", "problem"),
        [
            (0, b"\2", r"no binary model of Marian \(version 2"),
            (8, b"\xff" * 8, "weights: damaged"),
            (16, b"\xff" * 8, "truncated or damaged"),
            (24, b"\x01\x50", "has numbers of type 0x5001, which are packed"),
            (32, b"\x99", "has 153 axes: damaged"),
            (40, b"\0" * 8, "damaged"),
        ],
    )
    def test_damaged_weights(
        self, place: int, content: bytes, problem: str, tmp_path: Path
    ) -> None:
        model = firefox(tmp_path / "m")
        model.npz.unlink()
        (file,) = model.folder.glob("*.bin")
        whole = file.read_bytes()
        file.write_bytes(whole[:place] + content + whole[place + len(content) :])
        TestFiles.refused(model.folder, tmp_path / "ours", problem)
        file.write_bytes(whole[:-300])
        TestFiles.refused(model.folder, tmp_path / "ours", "truncated or damaged")


class TestFiles:
    def test_one_of_several_models_is_named(self, tmp_path: Path) -> None:
        model = made(tmp_path / "m")
        (model.folder / "second.npz").write_bytes(model.npz.read_bytes())
        names = ["model.npz", "second.npz"]
        text = yaml.safe_dump({"models": names, "vocabs": ["vocab.spm", "vocab.spm"]})
        (model.folder / "decoder.yml").write_text(text)
        with pytest.raises(ConfigError, match=r"has the models model\.npz, second\.npz; name the"):
            import_model(model.folder, tmp_path / "ours")
        import_model(model.folder / "second.npz", tmp_path / "ours")

    def test_without_decoder_yml(self, tmp_path: Path) -> None:
        model = made(tmp_path / "m")
        (model.folder / "decoder.yml").unlink()
        import_model(model.folder, tmp_path / "ours")
        (model.folder / "vocab.spm").unlink()
        with pytest.raises(DataError, match="vocabs: expected the files of the source's"):
            import_model(model.folder, tmp_path / "theirs")

    @pytest.mark.parametrize(("normalize", "penalty"), [(1, 1.0), (0.6, 0.6), (True, 1.0), (0, 0)])
    def test_its_search(self, normalize: float, penalty: float, tmp_path: Path) -> None:
        model = made(tmp_path / "m")
        values = {"vocabs": ["vocab.spm"] * 2, "beam-size": 5, "normalize": normalize}
        (model.folder / "decoder.yml").write_text(yaml.safe_dump({**values, "word-penalty": 0.1}))
        read = importer_from("marian").read(model.folder, (None, None))
        assert read.config.search == {"beam": 5, "length_penalty": penalty}
        assert "word-penalty: 0.1 is not done here." in read.notes

    def test_lists_of_a_line_each(self, tmp_path: Path) -> None:
        model = opus(tmp_path / "opus")
        (model.folder / "opus.vocab").write_text("".join(f"{piece}\n" for piece in model.rows[0]))
        decoder = yaml.safe_load((model.folder / "decoder.yml").read_text())
        text = yaml.safe_dump({**decoder, "vocabs": ["opus.vocab", "opus.vocab"]})
        (model.folder / "decoder.yml").write_text(text)
        assert largest_gap(model.folder, next(model.folder.glob("*best.npz")), model.rows) < 1e-4

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"type": "s2s"}, "'s2s' cannot be imported, only transformer"),
            ({"transformer-postprocess": "dhn"}, "cannot be imported, only '' with 'dan', or 'n'"),
            ({"transformer-ffn-activation": "gelu"}, "'gelu' cannot be imported, only swish or"),
            ({"transformer-decoder-autoreg": "average-attention"}, "is not known here, only self-"),
            ({"transformer-decoder-autoreg": "rnn"}, "dec-cell: 'gru' cannot be imported, only"),
            ({"transformer-train-position-embeddings": True}, "True cannot be imported, only"),
            ({"transformer-tied-layers": [1, 1]}, "cannot be imported"),
            ({"transformer-decoder-dim-ffn": 16}, "12 and transformer-decoder-dim-ffn 16 differ"),
            ({"enc-depth": 1}, "has the weight encoder_l2.*no family here"),
            ({"enc-depth": 3}, "the weight encoder_l3_self_Wq is missing"),
            ({"dim-emb": 16}, "dim-emb: 16, but the embeddings have the width 8"),
            ({"input-types": ["sequence", "class"]}, "input-types: .'class'. is not known here"),
            ({"input-types": [{}]}, "input-types: .{}. is not known here"),
            ({"dim-vocabs": [40, 40, 40]}, "only two sizes"),
            ({"dim-vocabs": [9, 9]}, "pieces, the model 9; they do not belong together"),
            (
                {"dim-vocabs": [99, 99]},
                "the dictionary has 99 pieces; its files do not belong together",
            ),
            ({"transformer-heads": "x"}, "transformer-heads: expected int, found 'x'"),
        ],
    )
    def test_what_it_cannot_be_is_refused(
        self, options: dict[str, Any], problem: str, tmp_path: Path
    ) -> None:
        model = made(tmp_path / "m")
        weights, own = read_npz(model.npz)
        save_npz(model.npz, weights, {**own, **options})
        self.refused(model.folder, tmp_path / "ours", problem)

    @pytest.mark.parametrize(
        ("name", "content", "problem"),
        [
            ("model.npz", b"x", "truncated or corrupt"),
            ("decoder.yml", b"a: [", "decoder.yml: "),
            ("decoder.yml", b"- a", "expected options by name"),
            ("decoder.yml", b"models: [no.npz]", "models: 'no.npz' is not beside it"),
            ("decoder.yml", b"models: [{}]", "models: {} is not beside it"),
            ("vocab.spm", b"x", "not a sentencepiece model"),
        ],
    )
    def test_damaged_files(self, name: str, content: bytes, problem: str, tmp_path: Path) -> None:
        model = made(tmp_path / "m")
        (model.folder / name).write_bytes(content)
        self.refused(model.folder, tmp_path / "ours", problem)

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ("a: [", "vocab.yml: "),
            ("[a, b]", "expected nothing but pieces and their numbers"),
            ("a: b", "'a': expected a piece and its number"),
            ("a: [1]", "expected nothing but pieces and their numbers"),
            ("a: 1\na: 2", "has 'a' twice"),
            ("a: 0", "the dictionary has no <unk>"),
            ("[" * 100_000, "vocab.yml: "),
        ],
    )
    def test_damaged_lists(self, content: str, problem: str, tmp_path: Path) -> None:
        model = opus(tmp_path / "m")
        next(model.folder.glob("*.vocab.yml")).write_text(content)
        self.refused(model.folder, tmp_path / "ours", problem)

    def test_damaged_weights(self, tmp_path: Path) -> None:
        model = made(tmp_path / "m")
        whole, (weights, options) = model.npz.read_bytes(), read_npz(model.npz)
        model.npz.write_bytes(whole[: len(whole) // 2])
        self.refused(model.folder, tmp_path / "ours", "truncated or corrupt")
        wrong: list[tuple[dict[str, Any], str]] = [
            ({OPTIONS_NAME: None}, "has no special:model.yml"),
            ({OPTIONS_NAME: np.frombuffer(b"a: [", np.int8)}, "special:model.yml: not YAML"),
            ({"Wemb": np.full((2, 8), np.nan, np.float32)}, "Wemb"),
            ({"Wemb": np.array([{}])}, "damaged .*allow_pickle=False"),
            ({"Wemb": weights["Wemb"].astype(np.int32)}, "Wemb holds torch.int32, expected real"),
            ({"Wemb": np.array(["a"])}, "'Wemb' holds <U1, expected real numbers"),
            ({"encoder_l1_self_Wq": weights["encoder_l1_self_bq"][0]}, "expected a matrix"),
            ({"encoder_l1_self_Wq": weights["encoder_l1_ffn_W1"]}, "do not belong together"),
            ({"more": weights["Wemb"]}, "has the weight more, which no family"),
        ]
        text = np.frombuffer(yaml.safe_dump(options).encode(), np.int8)
        for changed, problem in wrong:
            arrays: dict[str, Any] = {**weights, OPTIONS_NAME: text, **changed}
            np.savez(model.npz, **{name: one for name, one in arrays.items() if one is not None})
            self.refused(model.folder, tmp_path / "ours", problem)

    def test_numbers_in_half_precision_and_the_other_order_of_bytes(self, tmp_path: Path) -> None:
        model = made(tmp_path / "m")
        weights, options = read_npz(model.npz)
        halves = {name: one.astype(np.float16) for name, one in weights.items()}
        save_npz(model.npz, {name: one.astype(">f4") for name, one in halves.items()}, options)
        first = importer_from("marian").read(model.folder, (None, None)).weights
        save_npz(model.npz, halves, options)
        second = importer_from("marian").read(model.folder, (None, None)).weights
        assert all(torch.equal(first[name], second[name]) for name in first)

    def test_an_archive_that_unpacks_to_more_than_weights(self, tmp_path: Path) -> None:
        model = made(tmp_path / "m")
        np.savez_compressed(model.npz, Wemb=np.zeros((1000, 1000), np.float32))
        self.refused(model.folder, tmp_path / "ours", "as no model is; nothing of it is read")

    @staticmethod
    def refused(path: Path, output: Path, problem: str) -> None:
        with pytest.raises(DragomanError, match=problem) as caught:
            import_model(path, output)
        assert "\n" not in str(caught.value)
        assert not output.exists()
