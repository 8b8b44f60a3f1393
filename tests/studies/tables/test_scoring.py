"""Figures of what is translated, and why there are none."""

from __future__ import annotations

from pathlib import Path

from small_table import InThisProcess, change, made

from dragoman.core.files import write_json
from dragoman.training.interruption import Interruption
from studies.tables.plan import read_table
from studies.tables.scoring import Line, measure
from studies.tables.work import Work
from studies.tables.workplace import STAGES, Workplace


def shown(work: Work) -> dict[tuple[str, str], Line]:
    """The lines of the table by row and test."""
    return {(one.row, one.test): one for lines in measure(work).values() for one in lines}


def test_what_somebody_else_has_made_meanwhile_is_shown_and_used(
    copied: tuple[Path, Path],
) -> None:
    folder, output = copied
    scores = output / "one/scores.json"
    content = scores.read_bytes()
    scores.unlink()
    file = folder / "table.yaml"
    with Workplace(read_table(file), file, output).held(STAGES, "one"):
        work = made(folder, output, ["single"])
    assert shown(work)["single", "news"].missing == "another process is making one"
    scores.write_bytes(content)
    assert shown(work)["single", "news"].scores
    work.carry_out(["averaged"], lambda: None)
    assert shown(work)["averaged", "news"].scores
    assert "averaged.news" not in work.busy


def test_minutes_in_all_are_those_of_commands_not_of_the_trainings_within(
    copied: tuple[Path, Path],
) -> None:
    folder, output = copied
    command = "distill {here}/words --run {one}"
    change(folder, stages__one={"command": command})
    file = folder / "table.yaml"
    work = Work(Workplace(read_table(file), file, output), InThisProcess(Interruption()), print)
    trained = shown(work)["single", "news"].cost
    assert trained is not None and 0 < trained.seconds == trained.seconds_in_all < 3600
    record = {"command": command, "seconds": 3600.0}
    write_json(work.place.record_file(STAGES, "one"), record)
    cost = shown(work)["single", "news"].cost
    assert cost is not None and (cost.seconds, cost.seconds_in_all) == (trained.seconds, 3600.0)


def test_a_glossary_that_is_gone_is_an_error_of_its_figures(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    gone = str(folder / "gone.tsv")
    change(folder, evaluation={"metrics": ["chrf", "terms"], "glossary": gone})
    work = made(folder, output, ["single"])
    missing = f"single.news: {gone}: cannot be read: No such file or directory (glossary)"
    assert shown(work)["single", "news"].missing == work.failures["single.news"] == missing
