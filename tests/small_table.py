"""A table of two systems that are made in seconds, and what tests of it share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from command_line import call
from typing_extensions import override

from dragoman.core.files import content_digest, write_json
from dragoman.training.interruption import Interruption
from studies.tables.plan import read_table
from studies.tables.running import CommandRunner, FailedCommandError
from studies.tables.work import Work
from studies.tables.workplace import TRANSLATIONS, Workplace

TABLE: dict[str, Any] = {
    "title": "Numbers",
    "evaluation": {"metrics": ["chrf", "bleu"], "confidence_samples": 20},
    "significance": {"test": "randomization", "samples": 20},
    "tests": {
        "news": {"path": "test.tsv", "source": "en", "target": "de"},
        "dev": {
            "path": "dev.tsv",
            "source": "en",
            "target": "de",
            "transforms": [{"kind": "filter", "last_line": 6}],
        },
    },
    "stages": {
        "one": {"train": "tiny.yaml", "settings": {"training.max_steps": 4}},
        "mean": {"command": "average {one} --last 1 --output {mean}", "done": "model.safetensors"},
        "broken": {"command": "average {here}/nowhere --output {broken}"},
    },
    "sections": [
        {
            "title": "All",
            "tests": ["news", "dev"],
            "baseline": "single",
            "rows": {
                "broken-row": {"label": "Broken", "translate": "{broken}"},
                "single": {"label": "One", "translate": "{one} --beam 1", "published": "12.3"},
                "averaged": {"label": "Mean", "translate": {"news": "{mean} --beam 1"}},
                "known": {"label": "Elsewhere", "published": {"dev": "45.6 (A 2001)"}},
            },
        }
    ],
}


@dataclass
class InThisProcess(CommandRunner):
    """Runs commands without starting a process for each, and remembers them."""

    commands: list[str] = field(default_factory=list)

    @override
    def run(self, arguments: Sequence[str], log: Path, *, fine: Collection[int] = (0,)) -> float:
        self.check()
        self.commands.append(arguments[0])
        outcome = call(*arguments)
        if outcome.code not in fine:
            raise FailedCommandError(outcome.err.strip().splitlines()[-1])
        return 1.0


def made(
    folder: Path, output: Path, rows: Sequence[str] | None = None, told: list[str] | None = None
) -> Work:
    """Everything that the table lacks, made."""
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", output)
    work = Work(place, InThisProcess(Interruption()), told.append if told is not None else print)
    work.carry_out(rows or list(place.table.rows()), lambda: None)
    return work


def pretend(work: Work, name: str, lines: Sequence[str]) -> None:
    """Replace the translations of a cell."""
    file = work.place.output / "translations" / name
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    record = work.place.record(TRANSLATIONS, name) | {"translations": content_digest(file)}
    write_json(work.place.record_file(TRANSLATIONS, name), record)


def one_is_right(work: Work) -> None:
    """Pretend that of the news ``averaged`` translates all as it should, and ``single`` nearly."""
    file = work.place.output / "text/news.reference"
    references = file.read_text(encoding="utf-8").splitlines()
    pretend(work, "single.news", [line[1:] for line in references])
    pretend(work, "averaged.news", references)


def commands(work: Work) -> list[str]:
    assert isinstance(work.runner, InThisProcess)
    return work.runner.commands


def change(folder: Path, **values: Any) -> None:
    """Change values of the table by their path, with __ between its parts."""
    content = yaml.safe_load((folder / "table.yaml").read_text(encoding="utf-8"))
    for path, value in values.items():
        *parents, last = path.split("__")
        place = content
        for name in parents:
            place = place[name]
        place[last] = value
    (folder / "table.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
