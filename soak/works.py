"""The commands that are killed: how each begins, is repeated, and what it must have made.

All are tiny, so that a whole one takes about a second.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from dragoman.text.synthetic import write
from soak.warm import Ended, Order, Warm

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}(\.old)?")
# What a clock measured, which differs between any two runs.
_MEASURED = {"seconds", "tokens_per_second", "date", "modified_ns", "changed_ns", "inode"}

Made = Mapping[str, str]
"""Of each file that must be the same whenever it was interrupted, its digest."""


@dataclass(frozen=True)
class Work:
    """A command, run in a folder that has all it needs, as often as it takes."""

    name: str
    arguments: tuple[str, ...]
    made: tuple[str, ...]
    """Globs of the files that it makes."""
    resume: tuple[str, ...] = ()
    """What its error names to go on with; by default the same again."""
    done: str = "\0"
    """What its error says if it had finished before."""

    def order(self, folder: Path, before: Ended | None = None) -> Order:
        """The next attempt, after what came of the one before."""
        goes_on = before is not None and self.resume and " ".join(self.resume) in before.out
        return Order(self.resume if goes_on else self.arguments, str(folder))

    def result(self, folder: Path) -> Made:
        """What it has made."""
        paths = sorted(path for pattern in self.made for path in folder.glob(pattern))
        return {str(path.relative_to(folder)): _digest(path) for path in paths if path.is_file()}

    def finish(self, warm: Warm, folder: Path, attempts: int = 3) -> str:
        """Repeat the command until it has succeeded; what went wrong, or an empty string."""
        ended: Ended | None = None
        for _ in range(attempts):
            ended = warm.run(self.order(folder, ended))
            if not ended.code or self.done in ended.out:
                return _litter(folder)
        assert ended is not None
        return f"ended with {ended.code}: {ended.out.strip()[-500:]}"


def difference(found: Made, wanted: Made) -> str:
    """The names of the files that differ, or an empty string."""
    names = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
    return "" if not names else f"other than undisturbed: {', '.join(sorted(names)[:5])}"


def _litter(folder: Path) -> str:
    names = [path.name for path in folder.rglob(".*") if _TEMPORARY.fullmatch(path.name)]
    return f"left behind: {', '.join(names[:3])}" if names else ""


def _digest(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".md":  # the model card says how long training took
        content = re.sub(rb"[\d.]+ minutes of", b"", content)
    if path.suffix in (".json", ".jsonl"):  # each record once, without what a clock says
        values = (
            [json.loads(line) for line in content.splitlines()]
            if path.suffix == ".jsonl"
            else [json.loads(content)]
        )
        content = json.dumps([_timeless(value) for value in values]).encode()
    return hashlib.sha256(content).hexdigest()


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k not in _MEASURED}
    if isinstance(value, list):
        return [_timeless(one) for one in value]
    return value


@dataclass(frozen=True)
class Workshop:
    """All works, and the folder from which each begins."""

    works: tuple[Work, ...]
    base: Path

    def fresh(self, work: Work, place: Path) -> Path:
        """A copy of what the work begins with, at ``place``."""
        shutil.rmtree(place, ignore_errors=True)
        return self.fill(work, place)

    def fill(self, work: Work, place: Path) -> Path:
        """The same in a directory that exists, and is empty."""
        shutil.copytree(self.base / work.name, place, symlinks=True, dirs_exist_ok=True)
        return place


_RUN = ("run/model/*", "run/checkpoints/*/*", "run/data/*", "run/*.model", "run/metrics.jsonl")
_COUNT_STEPS = 8


def _recipe(source: str = "en", target: str = "de") -> dict[str, object]:
    def part(name: str) -> dict[str, str]:
        return {"path": f"{name}.tsv", "source": source, "target": target}

    return {
        "source_language": source,
        "target_language": target,
        "data": {
            "train": [part("train")],
            "dev": part("dev"),
            "test": {"news": part("test")},
            "processes": 1,
        },
        "vocabulary": {"size": 120},
        "model": {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 32, "heads": 2},
        "training": {
            "step_tokens": 500,
            "schedule": {"warmup_steps": 5},
            "precision": "float32",
            "max_steps": _COUNT_STEPS,
            "validation_steps": 4,
            "checkpoint_steps": 2,
            "keep_checkpoints": 2,
            "log_steps": 1,
            "best_metric": "loss",
            "average_checkpoints": 2,
        },
        "search": {"beam": 1, "extra_length": 2, "minimum_length": 2},
        "seed": 3,
    }


def _text(folder: Path) -> None:
    folder.mkdir(parents=True)
    write(folder, 300, dev=6, test=6)
    for name, direction in (("there.yaml", ("en", "de")), ("back.yaml", ("de", "en"))):
        (folder / name).write_text(yaml.safe_dump(_recipe(*direction)))
    with (folder / "train.tsv").open(encoding="utf-8") as stream:
        next(stream)
        lines = [line.rstrip("\n").split("\t") for line in stream][:40]
    (folder / "lines.en").write_text("".join(f"{line[2]}\n" for line in lines), encoding="utf-8")
    (folder / "lines.de").write_text("".join(f"{line[3]}\n" for line in lines), encoding="utf-8")


def workshop(base: Path, warm: Warm) -> Workshop:
    """Prepare what the works begin with, below ``base``."""
    text = base / "text"
    _text(text)

    def command(*arguments: str) -> None:
        ended = warm.run(Order(arguments, str(text)))
        if ended.code:
            raise RuntimeError(f"dragoman {' '.join(arguments)}: {ended.out}")

    works = (
        Work("prepare", ("prepare", "there.yaml", "--run", "run"), ("run/data/*", "run/*.model")),
        Work("train", ("train", "there.yaml", "--run", "run"), _RUN, resume=("resume", "run")),
        Work(
            "average",
            ("average", "trained", "--output", "mean"),
            ("mean/*",),
            done="mean: exists already",
        ),
        Work(
            "backtranslate",
            (
                *("backtranslate", "there.yaml", "--monolingual", "lines.de"),
                *("--reverse", "reverse", "--run", "run"),
            ),
            ("run/**/pairs.jsonl.gz", "run/**/model/*", "run/**/model.safetensors"),
        ),
        Work(
            "adapt",
            (
                *("adapt", "trained/model", "dev.tsv", "--source", "en", "--target", "de"),
                *("--general", "train.tsv", "--general-dev", "test.tsv", "--run", "run"),
                *("--set", "training.max_steps=4", "--set", "training.checkpoint_steps=2"),
            ),
            ("run/model/*", "run/**/model.safetensors", "run/adaptation.json"),
        ),
        Work(
            "translate",
            ("translate", "trained", "--input", "lines.en", "--output", "translated.txt"),
            ("translated.txt",),
        ),
    )
    given: Mapping[str, Callable[[], None]] = {
        "trained": lambda: command("train", "there.yaml", "--run", "trained"),
        "reverse": lambda: command("train", "back.yaml", "--run", "reverse"),
    }
    for make in given.values():
        make()
    for work in works:
        needed = {name for name in given if any(name in one for one in work.arguments)}
        ignored = shutil.ignore_patterns(*(set(given) - needed))
        shutil.copytree(text, base / work.name, symlinks=True, ignore=ignored)
    return Workshop(works, base)
