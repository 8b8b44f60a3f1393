"""Models of other toolkits, and pickles, whose readers must run nothing that a file names."""

from __future__ import annotations

import io
import pickle
import pickletools
import shutil
import zipfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch

from dragoman.exchange.importing import import_model
from dragoman.exchange.pickled import read_pickled
from soak.fuzzing.bombs import json_bombs, packed, xml_bombs, yaml_bombs
from soak.fuzzing.target import Bounds, Hostile, Target, files_in, from_directory, from_file, tokens

_MODELS = Path(__file__).parents[3] / "tests" / "exchange" / "models"
_NOT_READ = ("expected.json", "README.md")
_BOUNDS = Bounds(seconds=10.0, mebibytes=768.0)


class _Foreign(NamedTuple):
    """A model of another toolkit."""

    toolkit: str
    folder: str
    file: str = ""
    """Of the folder, where the importer takes one; otherwise the folder."""


_FOREIGN: Mapping[str, _Foreign] = {
    "fairseq-moses": _Foreign("fairseq", "fairseq/moses"),
    "fairseq-sentencepiece": _Foreign("fairseq", "fairseq/sentencepiece"),
    "marian-separate": _Foreign("huggingface-marian", "huggingface_marian/separate"),
    "marian-shared": _Foreign("huggingface-marian", "huggingface_marian/shared"),
    "joeynmt-subwords": _Foreign("joeynmt", "joeynmt/subwords"),
    "joeynmt-sentencepiece": _Foreign("joeynmt", "joeynmt/sentencepiece"),
    "opennmt2": _Foreign("opennmt", "opennmt2"),
    "opennmt3": _Foreign("opennmt", "opennmt3/relative"),
    "sockeye": _Foreign("sockeye", "sockeye/pre"),
    "argos": _Foreign("argos", "argos", "old.argosmodel"),
}


def _importing(name: str) -> Callable[[Path], Target]:
    def made(folder: Path) -> Target:
        one = _FOREIGN[name]
        template = folder / "given"
        shutil.copytree(_MODELS / one.folder, template, ignore=shutil.ignore_patterns(*_NOT_READ))

        def read(path: Path) -> None:
            import_model(
                path / one.file, path.parent / "ours", toolkit=one.toolkit, languages=("en", "de")
            )

        seeds = files_in(template)
        bombs = [
            Hostile(seed.name, bomb)
            for seed in seeds
            if len(seed.content) < 10_000
            for bomb in (*json_bombs(), *yaml_bombs())
        ]
        bombs += [
            Hostile(seed.name, bomb)
            for seed in seeds
            if len(seed.content) >= 10_000
            for bomb in (*_pickle_bombs(), *packed(), *json_bombs())
        ]
        return Target(
            f"import-{name}",
            from_directory(read, template, folder),
            seeds,
            tokens=tokens('"vocab_size" "d_model" null [] {} 1e9 -1 <unk> @@ \u2581 \n'),
            bombs=bombs,
            bounds=_BOUNDS,
        )

    return made


def _saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _with_pickle(program: bytes) -> bytes:
    """A checkpoint of PyTorch with another pickle in it."""
    written = io.BytesIO()
    good = io.BytesIO(_saved({"model": {"a": torch.ones(2)}}))
    with zipfile.ZipFile(good) as archive, zipfile.ZipFile(written, "w") as new:
        for info in archive.infolist():
            content = program if info.filename.endswith("data.pkl") else archive.read(info)
            new.writestr(info.filename, content)
    return written.getvalue()


def _pickle_bombs() -> Iterable[bytes]:
    """Pickles that share lists without end, nest, name functions, and promise much."""
    shared: list[object] = ["ha"]
    for _ in range(40):
        shared = [shared] * 10  # shown in full, it has 10 ** 40 parts
    for value in (
        {"args": shared, "model": shared},
        {"args": Namespace(arch=shared, activation_fn=shared), "model": {"a": torch.ones(2)}},
        {"model": {"shared": shared}, "opt": shared, "vocab": shared, "generator": {}},
    ):
        yield _saved(value)
    program = pickle.dumps({"model": 1}, 2)
    yield _with_pickle(b"\x80\x02" + b"(" * 60_000 + b"l" * 60_000 + b".")
    yield _with_pickle(b"\x80\x02" + b"]" * 60_000 + b"a" * 59_999 + b".")
    yield _with_pickle(b"\x80\x02" + b"cos\nsystem\n(X\x05\x00\x00\x00falsetR.")
    yield _with_pickle(b"\x80\x02cbuiltins\neval\n(X\x01\x00\x00\x001tR.")
    for length in (2**31 - 1, 2**32 - 1):
        yield _with_pickle(b"\x80\x02X" + length.to_bytes(4, "little") + b"a.")
    yield _with_pickle(b"\x80\x02r" + (2**32 - 1).to_bytes(4, "little") + b".")
    yield _with_pickle(program[:-1] + b"0" * 1000 + b".")
    yield _with_pickle(pickletools.optimize(pickle.dumps(10**3000, 2)))
    wide = torch.ones(1).expand(2**20, 2**20)
    yield _saved({"model": {"a": wide}})
    yield _saved({"model": {"a": torch.ones(1).to_sparse()}})


def _pickles(folder: Path) -> Target:
    options = Namespace(arch="transformer", layers=2, nested={"a": [1, 2.5, None, "b"]})
    seed = _saved({"args": options, "model": {"a": torch.ones(2, 3), "b": torch.ones(2).half()}})
    old = io.BytesIO()
    torch.save({"a": torch.ones(2)}, old, _use_new_zipfile_serialization=False)
    program = next(part for part in _parts(seed) if part.startswith(b"\x80"))

    def made(random: Random) -> Hostile:
        """A checkpoint whose pickle has opcodes replaced, where one begins."""
        data = bytearray(program)
        places = [place for _, _, place in pickletools.genops(program) if place]
        for _ in range(random.randint(1, 4)):
            data[random.choice(places)] = random.choice(_OPCODES)
        return Hostile("model.pt", _with_pickle(bytes(data)))

    return Target(
        "pickle",
        from_file(read_pickled, folder),
        [Hostile("model.pt", seed), Hostile("model.pt", old.getvalue())],
        bombs=[Hostile("model.pt", one) for one in (*_pickle_bombs(), *xml_bombs())],
        made=made,
        bounds=_BOUNDS,
    )


_OPCODES = [ord(one.code) for one in pickletools.opcodes]


def _parts(content: bytes) -> Iterable[bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            yield archive.read(info)


TARGETS: Mapping[str, Callable[[Path], Target]] = {
    "pickle": _pickles,
    **{f"import-{name}": _importing(name) for name in _FOREIGN},
}
"""Of this module."""
