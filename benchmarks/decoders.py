"""The decoders and their commands: beam 4, every output forced to 15 pieces.

Weights are fresh or a few steps old, since speed at a forced length does not depend on them.
Commands are timed on few and on many lines; the difference excludes start-up.  The larger number
makes the variation of start-up negligible; the test set is repeated if necessary.
"""

from __future__ import annotations

import json
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import cycle, islice
from pathlib import Path
from typing import ClassVar

from contenders import HERE, MEMORY_KEPT, FailedError, fairseq_binary, start
from shared_material import SIZES, Material, dragoman

FEW = 64
LENGTH = 15
BEAM = 4


class Decoder(ABC):
    """A toolkit that translates the test set."""

    name: str
    options: tuple[str, ...] = ()
    environment: ClassVar[Mapping[str, str]] = {}

    def __init__(self, material: Material, peers: Path, log: Path) -> None:
        self.material, self.peers, self.log = material, peers, log

    @property
    def label(self) -> str:
        """Name and options."""
        return " ".join([self.name, *self.options])

    def measure(self, size: str, lines: int) -> tuple[float, int]:
        """Sentences per second, start-up excluded, and memory.

        Raises:
            FailedError: it failed, or start-up differs by more than what is measured.
        """
        seconds, memory = [], 0
        for count in (FEW, lines):
            source = self.source(count)
            log = self.log / f"decode-{self.label.replace(' ', '')}.{size}.{count}.log"
            finished = start(
                self.command(size, source), self.material.folder, log, self.environment
            )
            seconds.append(finished.seconds)
            memory = max(memory, finished.memory)
        if seconds[1] <= seconds[0]:
            raise FailedError(f"{lines:,} lines took no longer than {FEW}; give more with --lines")
        return (lines - FEW) / (seconds[1] - seconds[0]), memory

    def source(self, count: int) -> Path:
        """The first lines of the test set, as pieces."""
        return self.first(self.material.pieces("test", "en"), count)

    def first(self, path: Path, count: int) -> Path:
        """A file with the first lines of another, which is repeated if it is too short."""
        target = path.with_name(f"{path.name}.{count}")
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        target.write_text("".join(islice(cycle(lines), count)), encoding="utf-8")
        return target

    @abstractmethod
    def command(self, size: str, source: Path) -> list[object]:
        """The command line."""


class Dragoman(Decoder):
    name = "Dragoman"

    def source(self, count: int) -> Path:
        return self.first(self.material.text("test", "en"), count)

    def command(self, size: str, source: Path) -> list[object]:
        run = self.material.folder / f"fresh-{size}"
        if not (run / "model").is_dir():
            shutil.rmtree(run, ignore_errors=True)  # what an interrupted benchmark left
            # Outputs of random weights repeat themselves, and would all be searched again.
            lengths = f"minimum_length: {LENGTH}, maximum_length: {LENGTH}"
            search = f"{{beam: {BEAM}, {lengths}, degenerate: keep}}"
            settings = {"training.max_steps": 1, "data.test": "{}", "search": search}
            values = [p for k, v in settings.items() for p in ("--set", f"{k}={v}")]
            dragoman("train", self.material.config(size), "--run", run, *values)
        return [
            *(sys.executable, "-m", "dragoman", "translate", run, *self.options),
            *("--input", source, "--output", self.material.folder / "translated.de"),
        ]


class Marian(Decoder):
    name = "HF generate"

    def measure(self, size: str, lines: int) -> tuple[float, int]:
        log = self.log / f"decode-{self.label.replace(' ', '')}.{size}.log"
        command = self.command(size, self.source(lines))
        # It prints its own seconds.
        finished = start(command, self.material.folder, log, self.environment)
        return lines / json.loads(finished.output.splitlines()[-1]), finished.memory

    def command(self, size: str, source: Path) -> list[object]:
        return [
            *(self.peers / "bin/python", HERE / "loops" / "marian.py", "translate"),
            *(source.resolve(), self.material.dictionary.resolve(), *self.options),
            *(json.dumps(SIZES[size]), LENGTH),
        ]


class TunedMarian(Marian):
    """The same, with freed memory kept by the C library."""

    name, environment = "HF generate, memory kept", MEMORY_KEPT


class Toolkit(Decoder):
    """A toolkit that decodes in float32 unless the hook puts it under autocast."""

    @property
    def environment(self) -> Mapping[str, str]:  # type: ignore[override]
        """With freed memory kept by the C library."""
        return {
            **MEMORY_KEPT,
            **({"BENCH_BFLOAT16": "search"} if "bfloat16" in self.options else {}),
        }


class Fairseq(Toolkit):
    name = "fairseq"

    def command(self, size: str, source: Path) -> list[object]:
        m, count = self.material, source.suffix
        folder = m.folder / f"fairseq-test{count}"
        if not folder.exists():
            target = self.first(m.pieces("test", "de"), int(count[1:]))
            for side, path in (("en", source), ("de", target)):
                (m.folder / f"part{count}.{side}").write_bytes(path.read_bytes())
            fairseq_binary(m, self.peers, self.log, folder, "--testpref", f"part{count}")
        return [
            *(self.peers / "bin/fairseq-generate", folder.name, "--cpu"),
            *("--path", f"fairseq-{size}/checkpoint_last.pt", "--beam", BEAM, "--lenpen", 0.6),
            *("--batch-size", 64, "--min-len", LENGTH - 1, "--max-len-a", 0),
            *("--max-len-b", LENGTH - 1, "--num-workers", 0),
        ]


class OpenNMT(Toolkit):
    name = "OpenNMT-py"

    def command(self, size: str, source: Path) -> list[object]:
        (model,) = sorted((self.material.folder / f"onmt-{size}").glob("model_step_*.pt"))[-1:]
        return [
            *(self.peers / "bin/onmt_translate", "-model", model, "-src", source),
            *("-output", "onmt.out", "-gpu", -1, "-beam_size", BEAM, "-length_penalty", "wu"),
            *("-alpha", 0.6, "-batch_size", 64, "-batch_type", "sents"),
            *("-min_length", LENGTH, "-max_length", LENGTH),
        ]


class Eole(Toolkit):
    name = "Eole"

    def command(self, size: str, source: Path) -> list[object]:
        config = self.material.folder / "eole-predict.yaml"
        config.write_text(
            f"model_path: [eole-{size}]\nsrc: {source}\noutput: eole.out\nworld_size: 1\n"
            f"gpu_ranks: []\ncompute_dtype: fp32\nbeam_size: {BEAM}\nlength_penalty: wu\n"
            "alpha: 0.6\nbatch_size: 64\nbatch_type: sents\nmax_length_ratio: 0\n"
            f"min_length: {LENGTH}\nmax_length: {LENGTH}\n"
        )
        return [self.peers / "bin/eole", "predict", "-config", config.name]


OURS: tuple[tuple[str, ...], ...] = (
    (),
    ("--precision", "auto"),
    ("--precision", "int8"),
    ("--workers", "2"),
    ("--workers", "2", "--precision", "auto"),
    ("--workers", "2", "--precision", "int8"),
    ("--engine", "ctranslate2"),
    ("--engine", "ctranslate2", "--precision", "int8"),
)


def decoders(material: Material, peers: Path, log: Path) -> list[Decoder]:
    """Ours with all options, then the peers."""
    found: list[Decoder] = []
    for options in OURS:
        found.append(Dragoman(material, peers, log))
        found[-1].options = options
    for kind in (Marian, TunedMarian, Fairseq, OpenNMT, Eole):
        for precision in ("float32", "bfloat16"):
            found.append(kind(material, peers, log))
            found[-1].options = (precision,)
    return found
