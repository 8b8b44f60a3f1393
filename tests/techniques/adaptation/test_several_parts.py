"""In-domain text of several parts: a dev set for each that is large enough, and nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from command_line import CommandLine, one_error

from dragoman.experiment import Experiment
from dragoman.text.corpora.corpus import read_pairs

FEW = (
    "too few in-domain pairs to set some apart (150 + 150): scores of domain are of the pairs "
    "themselves, and show what was learned by heart"
)
ONE_FEW = (
    "part1.tsv: too few in-domain pairs to set some apart (50): all are learned from, and no score "
    "is of them"
)


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("sizes", "learned", "dev", "note"),
    [
        ((250, 50), (225, 50), {"dev_domain": 25}, ONE_FEW),
        ((150, 150), (150, 150), {"dev_domain_1": 150, "dev_domain_2": 150}, FEW),
    ],
)
def test_a_part_of_few_pairs_is_learned(
    dragoman: CommandLine,
    trained: Path,
    tmp_path: Path,
    sizes: tuple[int, ...],
    learned: tuple[int, ...],
    dev: dict[str, int],
    note: str,
) -> None:
    for number, size in enumerate(sizes):
        lines = "".join(f"{number} A {n}\t{number} B {n}\n" for n in range(size))
        (tmp_path / f"part{number}.tsv").write_text(f"en\tde\n{lines}", encoding="utf-8")
    parts = [{"path": f"part{n}.tsv", "source": "en", "target": "de"} for n in range(len(sizes))]
    (tmp_path / "domain.yaml").write_text(yaml.safe_dump({"data": {"train": parts}}), "utf-8")
    run = tmp_path / "run"
    command = ["adapt", trained, tmp_path / "domain.yaml", "--run", run, "--any-language"]
    outcome = dragoman(*command)
    assert "repeat the command" in one_error(outcome, 130)
    assert note in outcome.err
    experiment = Experiment.open(run)
    sets = experiment.config.dev_sets()
    assert {one: len(list(read_pairs(sets[one]))) for one in sets if "domain" in one} == dev
    stored = experiment.prepare().store.parts
    assert tuple(part.stop - part.start for part in stored[: len(sizes)]) == learned
