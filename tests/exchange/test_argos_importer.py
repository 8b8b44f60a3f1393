"""Packages of Argos Translate and models of CTranslate2, against CTranslate2 itself."""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
import tracemalloc
import zipfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch
from imported_models import MODELS, built, expected, logits

import dragoman
from dragoman.core.errors import ConfigError, DataError, StorageError
from dragoman.exchange.ctranslate2_files import read_binary
from dragoman.exchange.importing import import_model, importer_from, importer_of
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import load_model
from dragoman.text.vocabularies import EOS

ctranslate2 = pytest.importorskip("ctranslate2")

SENTENCEPIECE = MODELS / "opennmt3" / "positions" / "sentencepiece.model"
OLD = MODELS / "argos" / "old.argosmodel"
NEW = pytest.mark.skipif(
    tuple(map(int, ctranslate2.__version__.split(".")[:2])) < (4, 8),
    reason="CTranslate2 4.5 cannot run its own multi-query attention over a source",
)
D_MODEL, HEADS, D_FF = 12, 2, 7
LINES = ["the old boat is red", "who sells the new lamp?", "lake"]
AS_THEIRS: dict[str, Any] = {"degenerate": "keep", "unknown": "mark"}
POST = {"pre_norm": False, "activation": 2}


def pieces_of(file: Path) -> list[str]:
    """All pieces, in another order than the model's, behind the symbols of OpenNMT-py."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(file))
    names = [processor.id_to_piece(i) for i in range(3, processor.get_piece_size())]
    random.Random(3).shuffle(names)
    return ["<unk>", "<blank>", "<s>", "</s>", *names]


class Writer:
    """Fills a specification of CTranslate2 with random weights."""

    def __init__(self, spec: Any, pieces: int, seed: int = 5) -> None:
        self.spec, self.random = spec, np.random.default_rng(seed)
        embedding = self.draw(pieces, D_MODEL)
        for side in (spec.encoder, spec.decoder):
            target = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
            target.weight = embedding
            if hasattr(side, "layer_norm"):
                self.norm(side.layer_norm)
        spec.decoder.projection.weight = embedding
        spec.decoder.projection.bias = self.draw(pieces)
        for layer in spec.encoder.layer:
            self.attention(layer.self_attention, (3, 1))
            self.feed_forward(layer.ffn)
        for layer in spec.decoder.layer:
            self.attention(layer.self_attention, (3, 1))
            self.attention(layer.attention, (1, 2, 1))
            self.feed_forward(layer.ffn)

    def draw(self, *shape: int) -> Any:
        return self.random.normal(0, 0.5, shape).astype(np.float32)

    def norm(self, spec: Any) -> None:
        spec.gamma = 1 + 0.3 * self.draw(D_MODEL)
        if hasattr(spec, "beta"):
            spec.beta = self.draw(D_MODEL)

    def attention(self, spec: Any, joined: tuple[int, ...]) -> None:
        self.norm(spec.layer_norm)
        width = D_MODEL // HEADS
        few = hasattr(spec, "num_heads_kv")  # one head's keys and values for all
        for linear, count in zip(spec.linear, joined, strict=True):
            rows = count * D_MODEL
            if few and count > 1:
                rows = (count == 3) * D_MODEL + 2 * width
            linear.weight, linear.bias = self.draw(rows, D_MODEL), self.draw(rows)
        if hasattr(spec, "relative_position_keys"):
            spec.relative_position_keys = self.draw(7, width)
            spec.relative_position_values = self.draw(7, width)

    def feed_forward(self, spec: Any) -> None:
        self.norm(spec.layer_norm)
        gated = hasattr(spec, "linear_0_noact")
        for name, shape in (
            ("linear_0", (D_FF, D_MODEL)),
            ("linear_0_noact", (D_FF, D_MODEL)),
            ("linear_1", (D_MODEL, D_FF)),
        ):
            if hasattr(spec, name):
                getattr(spec, name).weight = self.draw(*shape)
                if not gated:
                    getattr(spec, name).bias = self.draw(shape[0])


def write_model(
    folder: Path,
    *,
    quantization: str | None = None,
    encodings: Any = None,
    config: dict[str, Any] | None = None,
    adjust: Any = None,
    **options: Any,
) -> Path:
    """A model of CTranslate2 with random weights, and its sentencepiece model."""
    from ctranslate2.specs import common_spec, transformer_spec

    activation = common_spec.Activation(options.pop("activation", 0))
    spec = transformer_spec.TransformerSpec.from_config(
        (2, 1), HEADS, activation=activation, **options
    )
    names = pieces_of(SENTENCEPIECE)
    Writer(spec, len(names))
    if encodings is not None:
        for side in (spec.encoder, spec.decoder):
            side.position_encodings.encodings = encodings
    if adjust is not None:
        adjust(spec)
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    for key, value in (config or {}).items():
        setattr(spec.config, key, value)
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir(exist_ok=True)
    spec.save(str(folder))
    shutil.copy(SENTENCEPIECE, folder)
    return folder


def largest_gap(folder: Path, model_folder: Path | None = None) -> float:
    """Of log-probabilities from those of CTranslate2 in float32."""
    found = importer_from("argos").read(folder, (None, None))
    model, sides = built(found), found.vocabularies
    theirs = ctranslate2.Translator(
        str(model_folder or folder), device="cpu", compute_type="float32", intra_threads=1
    )
    gaps = []
    for source, target in zip(LINES, reversed(LINES), strict=True):
        ids = sides.source.encode(source), sides.target.encode(target)
        pieces = sides.source.pieces(ids[0]), sides.target.pieces(ids[1])
        told = theirs.score_batch([pieces[0]], [pieces[1]])[0].log_probs
        ours = logits(model, *ids).log_softmax(-1)
        chosen = ours[range(len(told)), [*ids[1], EOS]]
        gaps.append((chosen - torch.tensor(told)).abs().max())
    theirs.unload_model()
    return float(max(gaps))


def learned(rows: int = 30) -> Any:
    return np.random.default_rng(1).normal(0, 0.5, (rows, D_MODEL)).astype(np.float32)


def paper(alternating: bool) -> Any:
    position = np.arange(30)[:, None] / 10000 ** (np.arange(0, D_MODEL, 2) / D_MODEL)
    table = np.stack([np.sin(position), np.cos(position)], axis=2 if alternating else 1)
    return table.reshape(30, D_MODEL).astype(np.float32)


def normalise_embeddings(spec: Any) -> None:
    for number, side in enumerate((spec.encoder, spec.decoder)):
        gamma, beta, *_ = learned(4)[2 * number :]
        side.layernorm_embedding.gamma, side.layernorm_embedding.beta = 1 + gamma, beta


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encodings": paper(True), "config": {"layer_norm_epsilon": 0.01, "add_source_eos": True}},
        {"encodings": paper(False), **POST},
        {"encodings": learned(), "activation": 3, "no_final_norm": True},
        {
            "with_relative_position": True,
            "config": {"decoder_start_token": "</s>", "add_source_eos": True},
        },
        pytest.param({"multi_query_attention": True, "activation": 1}, marks=NEW),
        {"ffn_glu": True, "rms_norm": True, "activation": 2},
        {"adjust": lambda spec: setattr(spec.decoder, "start_from_zero_embedding", True)},
        {
            "layernorm_embedding": True,
            "encodings": learned(),
            "adjust": normalise_embeddings,
        },
    ],
    ids=["pre", "end", "post", "learned", "relative", "query", "gated", "zero", "normalised"],
)
def test_log_probabilities_are_those_of_ctranslate2(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    assert largest_gap(write_model(tmp_path / "model", **options)) < 1e-4


@pytest.mark.parametrize(
    "quantization", ["int8", "int16", "float16", "bfloat16", "int8_float16", "int8_bfloat16"]
)
def test_quantised_weights_are_the_numbers_that_they_stand_for(
    tmp_path: Path, quantization: str
) -> None:
    folder = write_model(tmp_path / "model", quantization=quantization)
    assert largest_gap(folder) < 1e-4
    (note,) = [
        note
        for note in importer_from("argos").read(folder, (None, None)).notes
        if "weights" in note
    ]
    assert quantization.split("_", maxsplit=1)[0] in note


def test_positions_in_float16_are_the_sinusoids_that_they_were(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", quantization="float16", encodings=paper(True))
    found = importer_from("argos").read(folder, (None, None)).config.model
    assert found.model_dump()["positions"] == "sinusoidal"
    assert largest_gap(folder) < 0.02  # CTranslate2's are rounded to 11 bits


def argos(folder: Path, model: Path, **metadata: Any) -> Path:
    """A package of Argos Translate."""
    found = folder / "translate-en_de.argosmodel"
    told = {"package_version": "1.3", "from_code": "en", "to_code": "de", **metadata}
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("en_de/metadata.json", json.dumps(told))
        archive.writestr("en_de/stanza/en/model.pt", b"not taken along")
        archive.write(SENTENCEPIECE, "en_de/sentencepiece.model")
        for file in model.iterdir():
            if file.name != "sentencepiece.model":
                archive.write(file, f"en_de/model/{file.name}")
    return found


@pytest.fixture(scope="module")
def int8_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("int8") / "model", quantization="int8")


@pytest.fixture
def package(tmp_path: Path, int8_model: Path) -> Path:
    return argos(tmp_path, int8_model)


def translated_there(
    model: Path, splitter: Path = SENTENCEPIECE, end: Sequence[str] = (), **limits: int
) -> list[str]:
    """What CTranslate2 makes of the lines and ``end``, by greedy search."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(splitter))
    results = ctranslate2.Translator(str(model), compute_type="float32").translate_batch(
        [[*pieces.encode(line, out_type=str), *end] for line in LINES],
        beam_size=1,
        suppress_sequences=[["<blank>"], ["<s>"], ["<unk>"]],
        **limits,
    )
    return [pieces.decode(result.hypotheses[0]) for result in results]


def test_package_translates_as_ctranslate2_does(
    tmp_path: Path, package: Path, int8_model: Path
) -> None:
    assert importer_of(package).name == "argos"
    report = import_model(package, tmp_path / "ours")
    assert (report.source_language, report.target_language) == ("en", "de")
    assert "Argos Translate (package version 1.3)" in report.origin
    assert any("Stanza" in note for note in report.notes)
    with dragoman.load(tmp_path / "ours") as translator:
        ours = translator.translate(LINES, beam=1, maximum_length=12, **AS_THEIRS)
    assert ours == translated_there(int8_model, max_decoding_length=12)
    assert len(set(ours)) == len(ours)


@pytest.mark.parametrize("adds_end", [False, True])
def test_sources_of_models_whose_outputs_begin_with_the_end_have_an_end(
    adds_end: bool, tmp_path: Path
) -> None:
    """So are those of Marian; the converter from Transformers leaves it to the tokenizer there."""
    config = {"decoder_start_token": "</s>", "add_source_eos": adds_end}
    model = write_model(tmp_path / "model", config=config)
    import_model(model, tmp_path / "ours")
    end = [] if adds_end else ["</s>"]
    with dragoman.load(tmp_path / "ours") as translator:
        ours = translator.translate(LINES, beam=1, maximum_length=12, **AS_THEIRS)
    assert ours == translated_there(model, end=end, max_decoding_length=12)
    read = load_model(tmp_path / "ours", "cpu").config.model
    assert isinstance(read, TransformerConfig)
    assert read.source_end


def test_a_model_of_marian_that_was_converted_from_transformers(tmp_path: Path) -> None:
    """With the files of its tokenizer beside it, as the converter copies them."""
    pytest.importorskip("transformers")
    converters = import_module("ctranslate2.converters")
    theirs, model = MODELS / "huggingface_marian" / "shared", tmp_path / "model"
    files = ["source.spm", "target.spm", "vocab.json", "tokenizer_config.json"]
    converters.TransformersConverter(str(theirs), copy_files=files).convert(str(model))
    import_model(model, tmp_path / "ours", languages=("en", "de"))
    lines = json.loads((theirs / "expected.json").read_text())["lines"]
    pieces, words = (
        sentencepiece.SentencePieceProcessor(model_file=str(theirs / f"{side}.spm"))
        for side in ("source", "target")
    )
    results = ctranslate2.Translator(str(model), compute_type="float32").translate_batch(
        [[*pieces.encode(line, out_type=str), "</s>"] for line in lines],
        beam_size=1,
        max_decoding_length=12,
        suppress_sequences=[["<unk>"]],
    )
    expected = [words.decode(result.hypotheses[0]) for result in results]
    with dragoman.load(tmp_path / "ours") as translator:
        ours = translator.translate(lines, beam=1, maximum_length=12, **AS_THEIRS)
    assert [one.split() for one in ours] == [one.replace("▁", " ").split() for one in expected]


def test_outputs_are_not_empty_as_there(tmp_path: Path) -> None:
    def end(spec: Any) -> None:
        spec.decoder.projection.bias[pieces_of(SENTENCEPIECE).index("</s>")] += 20

    model = write_model(tmp_path / "model", adjust=end)
    import_model(model, tmp_path / "ours")
    with dragoman.load(tmp_path / "ours") as translator:
        ours = translator.translate(LINES, beam=1, **AS_THEIRS)
    assert ours == translated_there(model)
    assert all(ours)


def test_symbols_that_are_kept_whole_are_put_out_as_there(tmp_path: Path) -> None:
    names = pieces_of(SENTENCEPIECE)
    number = next(i for i, name in enumerate(names) if len(name) > 2 and i > 3)

    def often(spec: Any) -> None:
        spec.decoder.projection.bias[number] += 6

    model = write_model(tmp_path / "model", adjust=often)
    (file,) = model.glob("*_vocabulary.json")
    symbol = ["<br>" if name == names[number] else name for name in names]
    file.write_text(json.dumps(symbol), encoding="utf-8")
    proto = import_module("sentencepiece.sentencepiece_model_pb2").ModelProto()
    proto.ParseFromString(SENTENCEPIECE.read_bytes())
    (piece,) = (one for one in proto.pieces if one.piece == names[number])
    piece.piece, piece.score, piece.type = "<br>", 0.0, piece.USER_DEFINED
    (model / "sentencepiece.model").write_bytes(proto.SerializeToString())
    import_model(model, tmp_path / "ours")
    with dragoman.load(tmp_path / "ours") as translator:
        ours = translator.translate(LINES, beam=1, maximum_length=12, **AS_THEIRS)
    splitter = model / "sentencepiece.model"
    assert ours == translated_there(model, splitter, max_decoding_length=12)
    assert "<br>" in "".join(ours)


def test_package_of_an_early_version(tmp_path: Path) -> None:
    """Of CTranslate2 1.20.1: binary version 4, revision 3, no config.json, lists as text."""
    with zipfile.ZipFile(OLD) as archive:
        archive.extractall(tmp_path)
    (inner,) = tmp_path.iterdir()
    assert not (inner / "model" / "config.json").exists()
    assert largest_gap(OLD, inner / "model") < 1e-4
    import_model(OLD, tmp_path / "ours")
    told = expected(OLD.parent)
    with dragoman.load(tmp_path / "ours") as translator:
        ours = translator.translate(told["sources"], beam=1, maximum_length=24, **AS_THEIRS)
    assert ours == told["greedy"]


def rewritten(package: Path, change: Any) -> Path:
    """The package with each file's content changed."""
    with zipfile.ZipFile(package) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    changed = change(contents)
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (contents if changed is None else changed).items():
            archive.writestr(name, content)
    return package


def edited(name: str, **values: Any) -> Any:
    """A change of a JSON file of a package."""

    def change(contents: dict[str, bytes]) -> None:
        value = json.loads(contents[f"en_de/{name}"]) | values
        contents[f"en_de/{name}"] = json.dumps(value).encode()

    return change


def replaced(name: str, content: bytes | None) -> Any:
    def change(contents: dict[str, bytes]) -> None:
        contents.pop(f"en_de/{name}", None)
        if content is not None:
            contents[f"en_de/{name}"] = content

    return change


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (edited("metadata.json", type="sbd"), ConfigError, "a package of type 'sbd'"),
        (edited("metadata.json", target_prefix="__de__"), ConfigError, "begins every output"),
        (edited("metadata.json", from_code=7), DataError, "from_code: expected text"),
        (edited("model/config.json", decoder_start_token=None), ConfigError, "leaves it to each"),
        (edited("model/config.json", decoder_start_token="<x>"), DataError, "'<x>' is no piece"),
        (
            edited("model/config.json", eos_token="<x>", add_source_eos=True),
            DataError,
            "eos_token: '<x>' is no piece",
        ),
        (edited("model/config.json", add_source_bos=True), ConfigError, "sources with a begin"),
        (edited("model/config.json", quantization_type=1), ConfigError, "quantization_type: 1"),
        (edited("model/config.json", layer_norm_epsilon="x"), DataError, "expected a number"),
        (replaced("metadata.json", None), DataError, "no package of Argos Translate"),
        (replaced("metadata.json", b"[]"), DataError, "a JSON object is expected"),
        (replaced("model/model.bin", None), DataError, "model.bin: cannot be read"),
        (replaced("model/model.bin", b"abcdefgh"), ConfigError, "no model of CTranslate2"),
        (replaced("model/shared_vocabulary.json", None), DataError, "has none of shared_vocab"),
        (replaced("model/shared_vocabulary.json", b'["<unk>"]'), DataError, "do not belong"),
        (replaced("model/shared_vocabulary.json", b'["a", "a"]'), DataError, "'a' twice"),
        (replaced("sentencepiece.model", None), DataError, "no file here says how text is split"),
        (replaced("sentencepiece.model", b"\x80"), DataError, "not a sentencepiece model"),
        (replaced("model/vmap.txt", b"\0" * 2**23), DataError, "as no model is"),
        (replaced("../../evil", b""), DataError, "leads out of the archive"),
    ],
)
def test_bad_packages_are_refused(
    tmp_path: Path, package: Path, change: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        import_model(rewritten(package, change), tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


def test_damaged_archive_and_link_are_refused(tmp_path: Path, package: Path) -> None:
    content = package.read_bytes()
    package.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="no archive, or truncated"):
        import_model(package, tmp_path / "ours")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        link = zipfile.ZipInfo("en_de/metadata.json")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    package.write_bytes(stream.getvalue())
    with pytest.raises(DataError, match="is a link or a device"):
        import_model(package, tmp_path / "ours")


def test_truncations_of_a_binary_are_refused(tmp_path: Path, int8_model: Path) -> None:
    folder = shutil.copytree(int8_model, tmp_path / "model")
    file = Path(folder) / "model.bin"
    content = file.read_bytes()
    for length in [*range(0, 300, 7), *range(300, len(content), 1997), len(content) - 1]:
        file.write_bytes(content[:length])
        with pytest.raises((DataError, ConfigError), match=r"model\.bin"):
            importer_from("argos").read(file.parent, (None, None))


def test_binary_that_announces_more_than_it_holds_takes_no_memory(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    name = b"encoder/layer_0/ffn/linear_0/weight\0"
    head = struct.pack("<I", 6) + struct.pack("<H", 16) + b"TransformerSpec\0"
    head += struct.pack("<II", 7, 1) + struct.pack("<H", len(name)) + name
    huge = 2**16 - 1
    (folder / "model.bin").write_bytes(
        head + struct.pack("<B2IBI", 2, huge, huge, 1, huge * huge) + b"\0" * 100
    )
    with pytest.raises(DataError, match="truncated or damaged"):
        importer_from("argos").read(folder, (None, None))


def binary(variables: list[tuple[str, tuple[int, ...], bytes]], aliases: list[str]) -> bytes:
    """A model in float32, and further names of the first of its variables."""

    def named(name: str) -> bytes:
        return struct.pack("<H", len(name) + 1) + name.encode() + b"\0"

    content = struct.pack("<I", 6) + named("TransformerSpec")
    content += struct.pack("<II", 7, len(variables))
    for name, shape, data in variables:
        content += named(name) + struct.pack(f"<B{len(shape)}I", len(shape), *shape)
        content += struct.pack("<BI", 0, len(data)) + data
    first = named(variables[0][0])
    return content + struct.pack("<I", len(aliases)) + b"".join(named(a) + first for a in aliases)


def test_many_names_of_one_weight_take_its_memory_once(tmp_path: Path) -> None:
    names = [f"encoder/layer_{n}/ffn/linear_0/weight" for n in range(100)]
    file = tmp_path / "model.bin"
    file.write_bytes(binary([("weight", (2**18,), bytes(2**20))], names))
    tracemalloc.start()
    assert len(read_binary(file).tensors) == 101
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert highest < 10 * 2**20


def test_shapes_beyond_all_bounds_are_damage(tmp_path: Path) -> None:
    """Nothing in them, so that their size is right."""
    file = tmp_path / "model.bin"
    file.write_bytes(binary([("weight", (0, *[2**32 - 1] * 7), b"")], []))
    with pytest.raises(DataError, match=r"the shape \[0, 4294967295, .*: damaged"):
        read_binary(file)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((30, 5), r"shape \[30, 5\], expected 12 columns"), ((30, 0), "is empty")],
)
def test_positions_of_another_width_are_refused(
    tmp_path: Path, shape: tuple[int, ...], message: str
) -> None:
    """A table of a billion rows and no columns takes no space, but sinusoids to compare it with."""
    folder = write_model(tmp_path / "model", encodings=np.ones(shape, np.float32))
    with pytest.raises(DataError, match=rf"encodings.*{message}"):
        importer_from("argos").read(folder, (None, None))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": 4}, r"activation \(4\) is not known"),
        ({"adjust": lambda s: setattr(s.decoder, "alibi", True)}, "decoder.alibi"),
        ({"adjust": lambda s: setattr(s.decoder, "scale_embeddings", False)}, "only one side"),
        ({"adjust": lambda s: setattr(s.encoder, "num_heads", np.int16(3))}, "num_heads of the"),
        ({"adjust": lambda s: setattr(s.decoder, "scale_outputs", True)}, "decoder.scale_outputs"),
    ],
)
def test_what_is_not_known_is_refused_by_name(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        importer_from("argos").read(write_model(tmp_path / "model", **options), (None, None))


def test_package_over_merges_of_subword_nmt(tmp_path: Path, package: Path) -> None:
    pytest.importorskip("sacremoses")
    pytest.importorskip("subword_nmt")

    def merges(contents: dict[str, bytes]) -> None:
        del contents["en_de/sentencepiece.model"]
        contents["en_de/bpe.model"] = b"#version: 0.2\nl a\na ke</w>\n"

    import_model(rewritten(package, merges), tmp_path / "ours")
    with dragoman.load(tmp_path / "ours") as translator:
        assert translator.configure().unknown == "mark"  # such pieces do not mark words
    notes = importer_from("argos").read(package, (None, None)).notes
    assert any("normalises punctuation" in note for note in notes)


def test_no_room_for_temporary_files_is_told(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(tmp_path / "absent")])
    with pytest.raises(StorageError, match="set TMPDIR to one with free space"):
        import_model(package, tmp_path / "ours")
