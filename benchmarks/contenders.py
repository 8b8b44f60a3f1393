"""The contenders, and the commands with which each trains.

Every contender runs in its own process, started again for each measurement, with two threads and
the same sizes, pieces and token budget.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from pathlib import Path
from statistics import mean
from typing import ClassVar

import click
from machine import THREADS
from shared_material import BATCH_TOKENS, SIZES, Material

HERE = Path(__file__).parent
WHOLE_PATH = click.Path(path_type=Path, resolve_path=True)
"""The kind of an option that names a folder, since contenders run in others."""
WARM = 4
"""Warm-up steps, which are not counted."""


MEMORY_KEPT = {
    "MALLOC_MMAP_THRESHOLD_": "1073741824",
    "MALLOC_TRIM_THRESHOLD_": "68719476736",
}
"""Makes the C library keep freed memory, as Dragoman does."""


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    output: str
    seconds: float
    memory: int
    """Largest resident size in bytes."""


class FailedError(Exception):
    """A contender failed; the text is the end of its output."""


def start(
    command: Sequence[object], folder: Path, log: Path, more: Mapping[str, str] | None = None
) -> Finished:
    """Run a process with the timing hook and wait for it.

    Raises:
        FailedError: it failed.
    """
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(THREADS),
        "PYTHONPATH": os.pathsep.join([str(HERE / "hooks"), *_own_path()]),
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",  # checkpoints of fairseq and OpenNMT-py
        **(more or {}),
    }
    began = time.perf_counter()
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)  # otherwise it seems to run on
    seconds = time.perf_counter() - began
    output = log.read_text(encoding="utf-8", errors="replace")
    if status:
        raise FailedError(f"{log}: {output[-300:]}")
    return Finished(output, seconds, usage.ru_maxrss * 1024)


def _own_path() -> list[str]:
    return [found] if (found := os.environ.get("PYTHONPATH")) else []


@dataclass(frozen=True)
class Speed:
    """Target tokens per second, padding excluded, and memory."""

    tokens_per_second: float
    memory: int


class Trainer(ABC):
    """A toolkit that trains a Transformer of a given size."""

    name: str
    dtype: str = "float32"

    def __init__(self, material: Material, peers: Path, log: Path) -> None:
        self.material, self.peers, self.log = material, peers, log

    @property
    def label(self) -> str:
        """Name and number type."""
        return f"{self.name} {self.dtype}"

    def measure(self, size: str, steps: int) -> Speed:
        """Train for some steps after :data:`WARM` warm-up steps."""
        folder = self.material.folder
        log = self.log / f"{self.label.replace(' ', '-').lower()}.{size}.log"
        times = log.with_suffix(".times").resolve()
        times.unlink(missing_ok=True)
        more = {"BENCH_TIMES": str(times)}
        if self.dtype == "bfloat16" and self.autocast:
            more["BENCH_BFLOAT16"] = "training"
        environment = {**more, **self.environment}
        finished = start(self.command(size, WARM + steps), folder, log, environment)
        moments = json.loads(times.read_text())
        tokens = self.tokens(finished.output)[-steps:]
        seconds = (moments[-1] - moments[WARM - 1]) / (len(moments) - WARM)
        return Speed(mean(tokens) / seconds, finished.memory)

    autocast = True
    environment: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def command(self, size: str, steps: int) -> list[object]:
        """The command line."""

    @abstractmethod
    def tokens(self, output: str) -> list[float]:
        """Target tokens of the steps, padding excluded, or their mean, from its output."""


class Dragoman(Trainer):
    """This project, by its command line, with logging on and its own choice of number type."""

    name, dtype = "Dragoman", "auto"

    def command(self, size: str, steps: int) -> list[object]:
        self.run = self.material.folder / f"run-{size}-{time.time_ns()}"
        settings = {
            "training.max_steps": steps,
            # It says how many tokens it has seen after the warm-up, and at the end.
            "training.log_steps": gcd(WARM, steps - WARM),
            "data.test": "{}",
            "search": "{beam: 1, maximum_length: 1}",  # of the validation at the end, not timed
        }
        return [
            *(sys.executable, "-m", "dragoman", "train", self.material.config(size)),
            *("--run", self.run),
            *(part for key, value in settings.items() for part in ("--set", f"{key}={value}")),
        ]

    def tokens(self, output: str) -> list[float]:
        records = map(json.loads, (self.run / "metrics.jsonl").read_text().splitlines())
        seen = {r["step"]: r["target_tokens"] for r in records if r["kind"] == "training"}
        last = max(seen)
        return [(seen[last] - seen[WARM]) / (last - WARM)]


class MarianLoop(Trainer):
    """Hugging Face's model in a plain loop: no data loading, logging or validation."""

    name, autocast = "HF Marian loop", False

    def command(self, size: str, steps: int) -> list[object]:
        script = HERE / "loops" / "marian.py"
        batches = self.material.batches.resolve()
        return [
            *(self.peers / "bin/python", script, "train", batches, steps, self.dtype),
            json.dumps(SIZES[size]),
        ]

    def tokens(self, output: str) -> list[float]:
        return list(json.loads(output.splitlines()[-1]))


class TunedMarianLoop(MarianLoop):
    """The same, with freed memory kept by the C library."""

    name = "HF Marian loop, memory kept"
    environment = MEMORY_KEPT


def fairseq_binary(material: Material, peers: Path, log: Path, folder: Path, *text: str) -> None:
    """Let fairseq encode text into a folder, which appears when it has everything.

    Args:
        material: whose dictionary is taken.
        peers: their environment.
        log: folder of logs.
        folder: below the material's.
        text: options that name the text.

    Raises:
        FailedError: it failed.
    """
    if folder.exists():
        return
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    start(
        [
            *(peers / "bin/fairseq-preprocess", "-s", "en", "-t", "de", *text),
            *("--srcdict", material.dictionary.name, "--joined-dictionary"),
            *("--destdir", part.name),
        ],
        material.folder,
        log / "fairseq-preprocess.log",
    )
    part.rename(folder)


class Fairseq(Trainer):
    name = "fairseq"

    def command(self, size: str, steps: int) -> list[object]:
        s, m = SIZES[size], self.material
        text = ("--trainpref", "train.pieces", "--validpref", "dev.pieces")
        fairseq_binary(
            m, self.peers, self.log, m.folder / "fairseq", *text, "--testpref", "test.pieces"
        )
        return [
            *(self.peers / "bin/fairseq-train", "fairseq", "--cpu", "--arch", "transformer"),
            *("--encoder-layers", s["layers"], "--decoder-layers", s["layers"]),
            *("--encoder-embed-dim", s["d_model"], "--decoder-embed-dim", s["d_model"]),
            *("--encoder-ffn-embed-dim", s["d_ff"], "--decoder-ffn-embed-dim", s["d_ff"]),
            *("--encoder-attention-heads", s["heads"], "--decoder-attention-heads", s["heads"]),
            *("--dropout", s["dropout"], "--share-all-embeddings", "--optimizer", "adam"),
            *("--adam-betas", "(0.9,0.98)", "--lr", "0.0005", "--lr-scheduler", "inverse_sqrt"),
            *("--warmup-updates", 4000, "--criterion", "label_smoothed_cross_entropy"),
            *("--label-smoothing", 0.1, "--max-tokens", BATCH_TOKENS, "--max-update", steps),
            *("--log-format", "simple", "--log-interval", 1, "--disable-validation"),
            *("--num-workers", 0, "--save-dir", f"fairseq-{size}", "--no-epoch-checkpoints"),
            *("--reset-optimizer", "--reset-dataloader", "--restore-file", "none.pt"),
        ]

    def tokens(self, output: str) -> list[float]:
        return [float(found) for found in re.findall(r"train_inner.*?wpb=([\d.]+)", output)]


def _source_vocabulary(material: Material) -> str:
    """The dictionary in the format of OpenNMT-py and Eole."""
    path = material.folder / "dictionary.tsv"
    rows = material.dictionary.read_text(encoding="utf-8").splitlines()
    path.write_text("".join("\t".join(row.rsplit(" ", 1)) + "\n" for row in rows))
    return path.name


class OpenNMT(Trainer):
    name = "OpenNMT-py"

    def command(self, size: str, steps: int) -> list[object]:
        s, folder = SIZES[size], self.material.folder
        vocabulary = _source_vocabulary(self.material)
        (folder / "onmt.yaml").write_text(
            "data:\n"
            "  corpus_1: {path_src: train.pieces.en, path_tgt: train.pieces.de}\n"
            "  valid: {path_src: dev.pieces.en, path_tgt: dev.pieces.de}\n"
            f"src_vocab: {vocabulary}\ntgt_vocab: {vocabulary}\nshare_vocab: true\n"
            f"src_vocab_size: 8000\ntgt_vocab_size: 8000\nsave_model: onmt-{size}/model\n"
        )
        (folder / f"onmt-{size}").mkdir(exist_ok=True)
        return [
            *(self.peers / "bin/onmt_train", "-config", "onmt.yaml"),
            *("-encoder_type", "transformer", "-decoder_type", "transformer"),
            *("-position_encoding", "-share_embeddings", "-share_decoder_embeddings"),
            *("-enc_layers", s["layers"], "-dec_layers", s["layers"], "-heads", s["heads"]),
            *("-hidden_size", s["d_model"], "-word_vec_size", s["d_model"]),
            *("-transformer_ff", s["d_ff"], "-dropout", s["dropout"], "-attention_dropout", 0),
            *("-optim", "adam", "-adam_beta2", 0.998, "-label_smoothing", 0.1),
            *("-batch_type", "tokens", "-batch_size", BATCH_TOKENS, "-normalization", "tokens"),
            *("-accum_count", 1, "-bucket_size", 29000, "-num_workers", 0),
            *("-max_grad_norm", 0, "-learning_rate", 2, "-decay_method", "noam"),
            *("-warmup_steps", 4000, "-train_steps", steps, "-report_every", 1),
            *("-valid_steps", 100000, "-save_checkpoint_steps", steps, "-param_init_glorot"),
        ]

    def tokens(self, output: str) -> list[float]:
        return [float(found) for found in re.findall(r"bsz:\s*\d+/\s*(\d+)/", output)]


class Eole(OpenNMT):
    name = "Eole"

    def command(self, size: str, steps: int) -> list[object]:
        s, folder = SIZES[size], self.material.folder
        vocabulary = _source_vocabulary(self.material)
        (folder / "eole.yaml").write_text(
            f"""
seed: 1
share_vocab: true
src_vocab: {vocabulary}
tgt_vocab: {vocabulary}
src_vocab_size: 8000
tgt_vocab_size: 8000
save_data: eole-data
overwrite: true
report_every: 1
n_sample: 0
data:
  corpus_1: {{path_src: train.pieces.en, path_tgt: train.pieces.de}}
  valid: {{path_src: dev.pieces.en, path_tgt: dev.pieces.de}}
training:
  model_path: eole-{size}
  world_size: 1
  gpu_ranks: []
  compute_dtype: fp32
  bucket_size: 29000
  num_workers: 0
  prefetch_factor: 2
  batch_type: tokens
  batch_size: {BATCH_TOKENS}
  batch_size_multiple: 1
  accum_count: [1]
  accum_steps: [0]
  normalization: tokens
  optim: adam
  adam_beta2: 0.998
  learning_rate: 2
  decay_method: noam
  warmup_steps: 4000
  max_grad_norm: 0
  label_smoothing: 0.1
  param_init_method: xavier_uniform
  dropout: [{s["dropout"]}]
  dropout_steps: [0]
  attention_dropout: [0.0]
  train_steps: {steps}
  valid_steps: 100000
  save_checkpoint_steps: {steps}
model:
  architecture: transformer
  layers: {s["layers"]}
  hidden_size: {s["d_model"]}
  transformer_ff: {s["d_ff"]}
  heads: {s["heads"]}
  embeddings: {{word_vec_size: {s["d_model"]}, position_encoding_type: SinusoidalInterleaved}}
  share_embeddings: true
  share_decoder_embeddings: true
""",
            encoding="utf-8",
        )
        return [self.peers / "bin/eole", "train", "-config", "eole.yaml"]


PEERS: tuple[type[Trainer], ...] = (MarianLoop, TunedMarianLoop, Fairseq, OpenNMT, Eole)


def trainers(material: Material, peers: Path, log: Path) -> list[Trainer]:
    """Ours first, then every peer in both number types."""
    found: list[Trainer] = [Dragoman(material, peers, log)]
    for peer in PEERS:
        for dtype in ("float32", "bfloat16"):
            trainer = peer(material, peers, log)
            trainer.dtype = dtype
            found.append(trainer)
    return found
