"""What Dragoman writes itself and reads again: models, runs, prepared data, shards, archives."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from random import Random

import torch
from safetensors.torch import load as load_tensors
from stores import random_pairs, write_store
from tiny_model import LINES, save_tiny_adapter, save_tiny_model

import dragoman
import dragoman.translation.translator  # here and not in each child
from dragoman.core.errors import DragomanError
from dragoman.data.store import Store
from dragoman.saved.adapter import read_adapter
from dragoman.saved.model import load_model
from dragoman.saved.weights import WEIGHTS_FILE, write_tensors
from dragoman.text.vocabularies import Vocabularies
from dragoman.training.checkpoint import checkpoints, moving_average, read_checkpoint
from dragoman.translation.shards import Shards
from dragoman.workflows.installing.install import install
from dragoman.workflows.installing.model_archives import pack
from soak.fuzzing.bombs import as_files, json_bombs, packed, yaml_bombs
from soak.fuzzing.commands import carry_out
from soak.fuzzing.mutations import NASTY, with_other_value
from soak.fuzzing.target import Bounds, Hostile, Target, files_in, from_directory, from_file, tokens

_SIZES = (0, 1, 2, 3, 7, 8, 9, 16)
_TYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int64,
    torch.bool,
    torch.uint8,
)
_RUN_BOUNDS = Bounds(seconds=20.0, mebibytes=512.0)
"""A whole command is carried out for each input."""


def _header(content: bytes, values: Mapping[str, object]) -> bytes:
    """Safetensors of another header."""
    text = json.dumps(values).encode("utf-8", "surrogatepass")
    length = int.from_bytes(content[:8], "little")
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def _tensors(name: str, content: bytes, folder: Path, random: Random) -> Hostile:
    """Safetensors whose header was damaged, or of other tensors with a digest that is right."""
    if random.random() < 0.4:
        length = int.from_bytes(content[:8], "little")
        values = with_other_value(json.loads(content[8 : 8 + length]), random)
        return Hostile(
            name, _header(content, values if isinstance(values, dict) else {"a": values})
        )
    tensors = load_tensors(content)
    for _ in range(random.randint(1, 3)):
        chosen = random.choice(list(tensors))
        shape = [random.choice(_SIZES) for _ in range(random.randint(0, 3))]
        value = random.choice((0.0, 1.0, -1e38, float("inf"), float("nan")))
        match random.randrange(5):
            case 0:
                del tensors[chosen]
            case 1:
                tensors[f"{chosen}{random.choice(('x', '.up', '.down', '.weight'))}"] = torch.ones(
                    shape
                )
            case 2:
                tensors[chosen] = torch.full(shape, value)
            case 3:
                tensors[chosen] = tensors[chosen].to(random.choice(_TYPES))
            case _:
                tensors[chosen] = torch.full_like(tensors[chosen], value)
        if not tensors:
            break
    path = folder / "made.safetensors"
    write_tensors(path, tensors)
    return Hostile(name, path.read_bytes())


def _tensor_bombs(name: str, content: bytes) -> Iterable[Hostile]:
    """Headers that promise much, and are long themselves."""
    end = max(0, len(content) - 8 - int.from_bytes(content[:8], "little"))
    for shape in ([2**40], [2**62, 4], [2**32, 2**32], [0, 2**63], [-1, -end // 4]):
        entry = {"dtype": "F32", "shape": shape, "data_offsets": [0, end]}
        yield Hostile(name, _header(content, {"a": entry}))
        yield Hostile(name, _header(content, {"a": {**entry, "data_offsets": [0, 2**62]}}))
    yield Hostile(name, (2**63).to_bytes(8, "little") + b"{" * 1000)
    yield Hostile(name, (100_000_001).to_bytes(8, "little") + b" " * 1000)
    for bomb in json_bombs():
        yield Hostile(name, len(bomb).to_bytes(8, "little") + bomb)


def _model_bombs(content: bytes) -> list[Hostile]:
    """Of all files of a model directory."""
    return list(
        chain(
            as_files("config.yaml", yaml_bombs()),
            _tensor_bombs(WEIGHTS_FILE, content),
            as_files(
                "vocabulary.model", json_bombs(), [b"", b"\n" * 1000, bytes(range(256)) * 100]
            ),
            as_files("config.yaml", map(str.encode, _HUGE_MODELS)),
        )
    )


_NO_VOCABULARIES = [b"", b"\n" * 1000, bytes(range(256)) * 100]
_HUGE_MODELS = [
    f"format: 1\nmodel: {{family: {family}, {key}: {value}}}\n"
    for family, keys in {
        "transformer": ("encoder_layers", "decoder_layers", "d_model", "d_ff", "heads"),
        "recurrent": ("d_model", "layers", "encoder_layers", "d_embedding"),
        "convs2s": ("encoder_layers", "d_model", "kernel"),
        "bytenet": ("layers", "d_model", "sets"),
        "transformer-lm": ("layers", "d_model", "heads"),
    }.items()
    for key in keys
    for value in (10**9, 2**62, -1, 0)
]


def _translate(model: Path) -> None:
    with dragoman.load(model, device="cpu") as translator:
        translator.translate(["a b", "e d c"])


def _model(folder: Path) -> Target:
    model = save_tiny_model(folder / "model")
    weights = (model / WEIGHTS_FILE).read_bytes()
    return Target(
        "model",
        from_directory(_translate, model, folder),
        files_in(model, "README.md"),
        tokens=tokens("family: model: search: d_model: beam: format: {} [] null"),
        bombs=_model_bombs(weights),
        made=lambda random: _tensors(WEIGHTS_FILE, weights, folder, random),
        bounds=Bounds(seconds=10.0, mebibytes=1024.0),
    )


def _adapter(folder: Path) -> Target:
    model = save_tiny_model(folder / "model")
    path = save_tiny_adapter(folder / "adapter.safetensors", model)
    content = path.read_bytes()

    def read(file: Path) -> None:
        load_model(model, "cpu", read_adapter(file))

    return Target(
        "adapter",
        from_file(read, folder),
        [Hostile(path.name, content)],
        bombs=list(_tensor_bombs(path.name, content)),
        made=lambda random: _tensors(path.name, content, folder, random),
    )


def _vocabulary(folder: Path) -> Target:
    model = save_tiny_model(folder / "model", tags=("<x>", "<y>"))
    content = (model / "vocabulary.model").read_bytes()

    def read(directory: Path) -> None:
        for vocabulary in Vocabularies.load(directory):
            ids = vocabulary.encode_batch(["a b <x> c", "", "語\0 e"])
            for one in ids:
                vocabulary.decode(one)
            vocabulary.pieces(range(len(vocabulary)))
            assert len(vocabulary.atoms) == len(vocabulary)

    template = folder / "vocabulary"
    template.mkdir()
    (template / "vocabulary.model").write_bytes(content)
    return Target(
        "vocabulary",
        from_directory(read, template, folder),
        files_in(template),
        tokens=tokens("<x> <unk> \n\x07 \u2581a \x12 \x1a"),
        bombs=as_files("vocabulary.model", json_bombs(), [content * 2000, content[:200] * 5000]),
    )


def _store(folder: Path) -> Target:
    directory = folder / "store"
    write_store(directory, random_pairs(20))

    def read(path: Path) -> None:
        store = Store.open(path)
        store.length_ratio(range(len(store.parts)))
        for row in range(len(store)):
            store.source(row), store.target(row)

    return Target(
        "store",
        from_directory(read, directory, folder),
        files_in(directory),
        tokens=tokens('"pairs" "parts" "files" "crc32" "start" "stop"'),
        bombs=as_files("store.json", json_bombs()),
        made=lambda random: _resealed_store(directory, random),
    )


def _resealed_store(directory: Path, random: Random) -> Hostile:
    """A list of a store's files with other numbers in it."""
    values = with_other_value(json.loads((directory / "store.json").read_bytes()), random)
    return Hostile("store.json", json.dumps(values).encode("utf-8", "surrogatepass"))


def _shards(folder: Path) -> Target:
    directory = folder / "corpus"
    origin = {"models": ["a"], "text": "b"}
    shards = Shards(directory)
    shards.begin(origin)
    for number in range(2):
        with shards.next(2) as shard:
            shard.add({"source": f"a {number}", "target": "b"})
    seeds = files_in(directory)

    def read(path: Path) -> None:
        again = Shards(path)
        again.check_usable()
        if again.begin(origin) is None:
            again.join(origin)

    return Target(
        "shards",
        from_directory(read, directory, folder),
        seeds,
        bombs=[
            *as_files(seeds[0].name, json_bombs()),
            *(
                Hostile(one.name, bomb)
                for one in seeds
                for bomb in (json_bombs() if one.name.endswith(".json") else packed())
            ),
        ],
    )


_RECIPE = """
seed: 1
data:
  train: [{{path: {path}, source: a, target: b}}]
  dev: {{path: {path}.dev.tsv, source: a, target: b}}
vocabulary: {{size: 14}}
model: {{family: transformer, encoder_layers: 1, decoder_layers: 1, d_model: 8, d_ff: 8, heads: 2}}
training:
  step_tokens: 200
  max_steps: 4
  validation_steps: 2
  checkpoint_steps: 2
  best_metric: chrf
  schedule: {{peak_learning_rate: 0.01, warmup_steps: 2}}
search: {{beam: 2}}
evaluation: {{metrics: [chrf]}}
"""


def _trained(folder: Path) -> Path:
    """A run of four steps."""
    text = folder / "text.tsv"
    text.write_text("a\tb\n" + "".join(f"{line}\t{line}\n" for line in LINES), encoding="utf-8")
    dev = folder / "text.tsv.dev.tsv"
    dev.write_text("a\tb\na e b\td a c\n", encoding="utf-8")
    recipe = folder / "recipe.yaml"
    recipe.write_text(_RECIPE.format(path=text), encoding="utf-8")
    code = carry_out(["train", recipe, "--run", folder / "run", "--quiet"])
    assert code == 0
    return folder / "run"


def _read_run(run: Path) -> None:
    """All that reads a run without training."""
    for checkpoint in checkpoints(run):
        read_checkpoint(checkpoint)
        moving_average(checkpoint)
    carry_out(["average", run, "--output", run.parent / "average", "--quiet"])
    carry_out(["translate", run, "--device", "cpu", "--quiet"], b"a b\n")
    with suppress(DragomanError):  # a run of four steps has no curves
        carry_out(["show", "training", "--json", run])


def _run(folder: Path) -> Target:
    run = _trained(folder)
    named = {path.relative_to(run).as_posix(): path for path in run.rglob("*.safetensors")}

    def made(random: Random) -> Hostile:
        name = random.choice(sorted(named))
        return _tensors(name, named[name].read_bytes(), folder, random)

    return Target(
        "run",
        from_directory(_read_run, run, folder),
        files_in(run, "README.md", "report.html"),
        tokens=tokens('"step" "best" "places" null {} []'),
        bombs=[
            Hostile(path.relative_to(run).as_posix(), bomb)
            for path in chain(run.rglob("*.json"), run.rglob("*.jsonl"))
            for bomb in json_bombs()
        ],
        made=made,
        bounds=_RUN_BOUNDS,
    )


def _resume(folder: Path) -> Target:
    run = _trained(folder)
    shutil.rmtree(run / "model")

    def read(path: Path) -> None:
        carry_out(["resume", path, "--quiet"])

    return Target(
        "resume",
        from_directory(read, run, folder),
        files_in(run, "README.md", "report.html"),
        bounds=_RUN_BOUNDS,
    )


def _archives(folder: Path) -> Target:
    """Archives of a model, which are installed into a folder of their own."""
    model = save_tiny_model(folder / "model")
    seeds = []
    for suffix in (".tar", ".tar.gz", ".tar.zst"):
        path = folder / f"m{suffix}"
        pack(model, path, lambda count: None)
        seeds.append(Hostile(path.name, path.read_bytes()))
    (folder / "m.zip").unlink(missing_ok=True)
    shutil.make_archive(str(folder / "m"), "zip", model)
    seeds.append(Hostile("m.zip", (folder / "m.zip").read_bytes()))

    def read(path: Path) -> None:
        os.environ["DRAGOMAN_MODELS"] = str(path.parent / "installed")
        install(str(path), lambda line: None)

    return Target(
        "archive",
        from_file(read, folder),
        seeds,
        tokens=[*NASTY, b"ustar", b"GNU.sparse.size=9999999999999", b"path=../x", b"size=-1"],
        bombs=[*as_files("m.tar.gz", packed()), *_tars()],
        bounds=Bounds(seconds=10.0),
    )


def _tars() -> Iterable[Hostile]:
    """Tar files of absurd sizes and kinds."""
    for kind in (
        tarfile.REGTYPE,
        tarfile.GNUTYPE_SPARSE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.XHDTYPE,
    ):
        for size in (0, 2**33, 2**60):
            info = tarfile.TarInfo("config.yaml")
            info.type, info.size = kind, size
            yield Hostile("m.tar", info.tobuf(tarfile.GNU_FORMAT) + b"a" * 2048)
    many = io.BytesIO()
    with tarfile.open(fileobj=many, mode="w") as tar:
        for number in range(12_000):
            tar.addfile(tarfile.TarInfo(str(number)))
    yield Hostile("m.tar", many.getvalue())


TARGETS: Mapping[str, Callable[[Path], Target]] = {
    "model": _model,
    "adapter": _adapter,
    "vocabulary": _vocabulary,
    "store": _store,
    "shards": _shards,
    "run": _run,
    "resume": _resume,
    "archive": _archives,
}
"""Of this module."""
