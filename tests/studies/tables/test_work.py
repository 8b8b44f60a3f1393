"""Tables on a tiny invented text: trained, translated, scored; stopped, resumed and changed."""

from __future__ import annotations

import json
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from command_line import call, experiment, write_experiment

from dragoman.core.errors import ConfigError, DataError, MissingExtraError, StorageError
from dragoman.core.files import content_digest, write_json
from dragoman.run.run_directory import claim
from dragoman.text.synthetic import write
from dragoman.training.interruption import Interruption
from studies.tables import running
from studies.tables.__main__ import tables
from studies.tables.listing import list_rows, remaining_commands
from studies.tables.plan import read_table
from studies.tables.result import write_result
from studies.tables.running import CommandRunner, FailedCommandError, StoppedError
from studies.tables.work import (
    Cell,
    Work,
    is_translated,
    text_of,
    translation_command,
    translations,
)
from studies.tables.workplace import (
    STAGES,
    TRANSLATIONS,
    BusyPlaceError,
    State,
    Workplace,
    shell,
)

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

    def run(self, arguments: Sequence[str], log: Path) -> float:
        self.check()
        self.commands.append(arguments[0])
        outcome = call(*arguments)
        if outcome.code:
            raise FailedCommandError(outcome.err.strip().splitlines()[-1])
        return 1.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The text, the recipe and the table."""
    path = tmp_path_factory.mktemp("table")
    write(path, 100, dev=20, test=20)
    values = experiment()
    del values["data"]["test"]
    write_experiment(path, values)
    (path / "table.yaml").write_text(yaml.safe_dump(TABLE, sort_keys=False), encoding="utf-8")
    return path


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


def commands(work: Work) -> list[str]:
    assert isinstance(work.runner, InThisProcess)
    return work.runner.commands


@pytest.fixture(scope="module")
def finished(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Work:
    return made(folder, tmp_path_factory.mktemp("results") / "numbers")


@pytest.fixture
def copied(folder: Path, finished: Work, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Table and results to change: the folders keep their names."""
    shutil.copytree(folder, tmp_path / folder.name)
    output = tmp_path / "results" / finished.place.output.name
    shutil.copytree(finished.place.output, output)
    yield tmp_path / folder.name, output


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


def test_rows_need_their_stages_and_a_failure_ends_its_row_alone(finished: Work) -> None:
    assert commands(finished) == [
        *("average", "train", "translate", "translate"),
        *("average", "translate"),
    ]
    assert list(finished.failures) == ["broken"]
    assert "neither a run with checkpoints, nor" in finished.failures["broken"]
    assert list(finished.problems) == ["broken-row.news", "broken-row.dev"]


def test_the_table_says_what_was_found_and_what_not(copied: tuple[Path, Path]) -> None:
    work = made(*copied)
    output = work.place.output
    references = (output / "text/news.reference").read_text(encoding="utf-8").splitlines()
    pretend(work, "single.news", [line[1:] for line in references])
    pretend(work, "averaged.news", references)
    write_result(work)
    page = (output / "table.md").read_text(encoding="utf-8")
    assert "**3 of 5 figures are there**" in page
    (section,) = json.loads((output / "table.json").read_text(encoding="utf-8"))["sections"]
    lines = {(line["row"], line["test"]): line for line in section["lines"]}
    assert list(lines) == [
        *(("broken-row", "news"), ("single", "news"), ("averaged", "news")),
        *(("broken-row", "dev"), ("single", "dev"), ("known", "dev")),
    ]
    single, averaged = lines["single", "news"], lines["averaged", "news"]
    assert [score["name"] for score in single["scores"]] == ["chrF2", "BLEU"]
    assert single["difference"] is None
    assert averaged["scores"][0]["value"] == pytest.approx(100)
    value = single["scores"][0]["value"]
    assert averaged["difference"]["difference"] == pytest.approx(100 - value)
    assert averaged["difference"]["p_value"] < 0.05
    assert f"| news | Mean | 100.00 ± 0.00 | +{100 - value:.2f}* (" in page
    assert (single["cost"]["steps"], averaged["cost"]["steps"]) == (4, 0)
    assert averaged["cost"]["seconds_in_all"] > single["cost"]["seconds_in_all"] > 0
    assert lines["broken-row", "dev"]["missing"] == work.failures["broken"]
    assert not lines["known", "dev"]["missing"]
    assert "| dev | Elsewhere |" in page
    assert "45.6 (A 2001)" in page
    found = call(
        *("evaluate", output / "translations/single.news", output / "text/news.reference"),
        *("--json", "--metric", "chrf"),
    )
    assert json.loads(found.out)["scores"][0]["value"] == pytest.approx(value)
    # Scores are computed once.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("studies.tables.scoring.score_corpus", None)
        write_result(work)
    assert (output / "table.md").read_text(encoding="utf-8") == page


def test_a_difference_from_another_baseline_names_it(copied: tuple[Path, Path]) -> None:
    """What the page says of all others would be wrong of this one."""
    folder, output = copied
    rows: list[dict[str, Any]] = json.loads(json.dumps(TABLE["sections"]))
    rows[0]["rows"]["third"] = {
        **rows[0]["rows"]["averaged"],
        "label": "Third",
        "baseline": "averaged",
    }
    change(folder, sections=rows)
    work = made(folder, output)
    write_result(work)
    page = (output / "table.md").read_text(encoding="utf-8")
    (second,) = [line for line in page.splitlines() if line.startswith("| news | Mean |")]
    (third,) = [line for line in page.splitlines() if line.startswith("| news | Third |")]
    assert " to " not in second
    assert "| +0.00 (1.0000) to Mean |" in third
    assert "Differences are to the section's baseline or the system that they name, with p" in page


def test_a_test_is_what_its_filters_leave(finished: Work) -> None:
    text = (finished.place.output / "text/dev.source").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 5


def test_what_is_done_is_kept_also_where_all_of_it_was_moved(copied: tuple[Path, Path]) -> None:
    assert commands(made(*copied)) == ["average"]  # the one that fails


def test_a_run_of_another_recipe_is_neither_used_nor_lost(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    change(folder, stages__one__settings={"training.max_steps": 5, "training.log_steps": 7})
    work = made(folder, output, ["single"])
    assert commands(work) == []
    assert work.failures["one"] == (
        f"one: {output / 'one'} was made otherwise than the table says now (training.max_steps); "
        "move it away to make it again, or change the recipe back"
    )
    assert set(work.problems) == {"single.news", "single.dev"}
    (listed,) = list_rows(work.place, ["single"])
    assert "one (made by another recipe or command)" in listed
    assert any("move" in line for line in remaining_commands(work.place, ["single"]))
    (output / "one").rename(output / "older")
    (listed,) = list_rows(work.place, ["single"])
    assert "needs one, the translation of news" in listed
    assert work.place.command("one")[0] == "train"


def test_figures_of_another_recipe_are_not_shown_whatever_was_made_now(
    copied: tuple[Path, Path],
) -> None:
    """Nor is anything compared with them: neither before its turn comes, nor without it."""
    folder, output = copied
    rows: list[dict[str, Any]] = json.loads(json.dumps(TABLE["sections"]))
    rows[0]["rows"]["by-hand"] = {
        "label": "Other",
        "translate": {"news": "embed translate {here}/a {here}/b"},
    }
    for name, word in (("a", "one"), ("b", "eins")):
        (folder / name).write_text(f"1 2\n{word} 0.6 0.8\n", encoding="utf-8")
    change(folder, sections=rows)
    work = made(folder, output, ["by-hand"])
    shown = {(one.row, one.test): one for one in write_result(work)["All"]}
    assert shown["single", "news"].scores
    assert shown["by-hand", "news"].baseline == "single"
    change(folder, stages__one__settings={"training.max_steps": 5})
    work = made(folder, output, ["by-hand"])
    shown = {(one.row, one.test): one for one in write_result(work)["All"]}
    assert not work.failures
    assert not shown["single", "news"].scores
    assert "was made otherwise than the table says now" in shown["single", "news"].missing
    assert shown["by-hand", "news"].scores
    assert shown["by-hand", "news"].difference is None


def test_a_damaged_record_spoils_its_own_figure_alone(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    (output / f"records/{TRANSLATIONS}/single.news.json").write_text("{", encoding="utf-8")
    work = made(folder, output, ["averaged"])
    shown = {(one.row, one.test): one for one in write_result(work)["All"]}
    assert "single.news.json: damaged" in shown["single", "news"].missing
    assert shown["averaged", "news"].scores
    assert shown["averaged", "news"].difference is None


def test_other_text_of_a_training_is_noticed(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    text = folder / "train.tsv"
    before = text.read_bytes()
    text.write_bytes(before + b"eins\tone\n")
    work = made(folder, output, ["single"])
    assert commands(work) == []
    assert "(the text of data.train)" in work.failures["one"]
    text.write_bytes(before)
    assert not made(folder, output, ["single"]).failures
    text.unlink()  # whatever it was, it cannot be asked
    assert not made(folder, output, ["single"]).failures


def test_another_command_is_noticed_and_so_is_another_model_before_it(
    copied: tuple[Path, Path],
) -> None:
    folder, output = copied
    change(folder, stages__mean__command="average {one} --last 2 --output {mean}")
    assert "(its command)" in made(folder, output, ["averaged"]).failures["mean"]
    change(folder, stages__mean__command=TABLE["stages"]["mean"]["command"])
    (output / "one/scores.json").write_text("{}", encoding="utf-8")
    work = made(folder, output, ["averaged", "single"])
    assert "(one, which it needs)" in work.failures["mean"]
    assert commands(work) == ["translate", "translate"]  # by the model that is there now


def test_other_options_or_other_text_are_translated_again(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    rows: list[dict[str, Any]] = json.loads(json.dumps(TABLE["sections"]))
    rows[0]["rows"]["averaged"]["translate"]["news"] = "{mean} --beam 2"
    change(folder, sections=rows, tests__dev__transforms=[{"kind": "filter", "last_line": 4}])
    work = made(folder, output, ["single", "averaged"])
    assert commands(work) == ["translate", "translate"]
    single = Cell("single", "dev", "{one} --beam 1")
    assert len(translations(work.place, single).read_bytes().splitlines()) == 3
    assert is_translated(work.place, single)
    translations(work.place, single).write_text("by hand\n", encoding="utf-8")
    assert not is_translated(work.place, single)


def test_a_row_may_translate_word_by_word(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    for name, word in (("en.vec", "one"), ("de.vec", "eins")):
        (folder / name).write_text(f"1 2\n{word} 0.6 0.8\n", encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(json.dumps(TABLE["sections"]))
    arguments = "embed translate {here}/en.vec {here}/de.vec"
    rows[0]["rows"]["words"] = {"label": "Word by word", "translate": {"news": arguments}}
    change(folder, sections=rows)
    work = made(folder, output, ["words"])
    assert not work.failures
    assert commands(work) == ["embed"]
    translated = translations(work.place, Cell("words", "news", arguments)).read_text("utf-8")
    assert "eins" in translated
    assert "one" not in translated.split()


def test_a_row_may_be_of_a_study(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", output)
    cell = Cell("parsed", "news", "python -m studies.chart_parser {here}/bank.trees")
    command = translation_command(place, cell, text_of(place, "news"))
    assert shell(command) == (
        f"python -m studies.chart_parser {folder / 'bank.trees'} "
        f"--input {output / 'text/news.source'} --output {output / 'translations/parsed.news'}"
    )


def test_a_begun_run_is_resumed(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    (output / "one/scores.json").unlink()
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", output)
    assert place.state("one") is State.TO_DO
    assert list(remaining_commands(place, ["single"]))[:2] == [
        "# one",
        f"dragoman resume {output / 'one'}",
    ]


def test_a_stage_that_somebody_else_makes_is_left_to_them(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    (output / "one/scores.json").unlink()
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", output)
    told: list[str] = []
    with place.held(STAGES, "one"):
        work = made(folder, output, ["single", "averaged"], told)
        assert told == ["one: another process is making it; going on with the rest"]
        assert not work.failures
        assert commands(work) == []
        assert work.problems["averaged.news"] == "another process is making one"
    with claim(output / "one"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.run.run_directory._held", set())  # as in another process
        with pytest.raises(BusyPlaceError), place.held(STAGES, "one"):
            pass


class Pretending(InThisProcess):
    """Writes what a stage or a row would, after it has met another."""

    meet: Callable[[str], None] = print

    def run(self, arguments: Sequence[str], log: Path) -> float:
        self.check()
        command, place = arguments[0], Path(arguments[-1])
        self.commands.append(f"{command} {place.name}")
        self.meet(place.name)
        written = place / "end" if command == "copy" else place
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text("1\n", encoding="utf-8")
        return 1.0


SIDES = {"left", "right"}


@pytest.fixture
def apart(folder: Path, tmp_path: Path) -> Workplace:
    """A table of two rows, ``left`` and ``right``, with a stage each and one that both need."""
    stages = {
        "shared": {"command": "copy {shared}", "done": "end"},
        "left": {"command": "copy {shared} {left}", "done": "end"},
        "right": {"command": "copy {shared} {right}", "done": "end"},
    }
    rows = {name: {"label": name, "translate": f"{{{name}}}"} for name in ("left", "right")}
    section = {"title": "All", "tests": ["news"], "rows": rows}
    values = {**TABLE, "stages": stages, "sections": [section]}
    file = tmp_path / "table.yaml"
    file.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")
    for corpus in folder.glob("*.tsv"):
        (tmp_path / corpus.name).write_bytes(corpus.read_bytes())
    return Workplace(read_table(file), file, tmp_path / "out")


def test_several_rows_are_made_at_once_and_what_they_share_once(apart: Workplace) -> None:
    together = Barrier(2)
    runner = Pretending(Interruption(), jobs=2)

    def meet(name: str) -> None:
        if "shared" not in name:
            together.wait(20)  # for ever, if one were made after the other

    runner.meet = meet
    done: list[int] = []
    work = Work(apart, runner, lambda _: None)
    work.carry_out(["left", "right"], lambda: done.append(1))
    assert not work.failures
    assert not work.problems
    assert runner.commands[0] == "copy shared"
    assert sorted(runner.commands[1:]) == [
        "copy left", "copy right", "translate left.news", "translate right.news"
    ]  # fmt: skip
    assert done == [1, 1]


def test_what_waits_for_its_turn_is_left_to_other_processes(apart: Workplace) -> None:
    runner = Pretending(Interruption(), jobs=2)
    work = Work(apart, runner, lambda _: None)
    first: list[str] = []

    def meet(name: str) -> None:
        if name in SIDES and not first:
            first.append(name)
            (other,) = SIDES - {name}
            wait_until(lambda: other in work._locks)
            time.sleep(0.1)  # the other row waits for its turn
            with apart.held(STAGES, other):
                pass

    runner.meet = meet
    with runner.turn():  # so that there is one for both
        work.carry_out(["left", "right"], lambda: None)
    assert first
    assert not work.failures
    assert not work.problems


def test_what_waits_for_its_turn_when_the_time_is_over_is_not_begun(apart: Workplace) -> None:
    runner = Pretending(Interruption(), jobs=2)
    told: list[str] = []
    work = Work(apart, runner, told.append)

    def meet(name: str) -> None:
        if name in SIDES:
            wait_until(lambda: work._locks.keys() >= SIDES)
            time.sleep(0.1)
            runner.interruption.signal = signal.SIGTERM
            raise StoppedError

    runner.meet = meet
    with runner.turn(), pytest.raises(StoppedError):
        work.carry_out(["left", "right"], lambda: None)
    (begun,) = [name for name in SIDES if apart.record(STAGES, name)]
    assert [line for line in told if line.startswith(tuple(SIDES))] == [
        f"{begun}: {shell(apart.command(begun))}"
    ]


def test_an_error_stops_what_is_made_beside_it(apart: Workplace) -> None:
    runner = Pretending(Interruption(), jobs=2)
    stopped: list[bool] = []

    def meet(name: str) -> None:
        if name == "left.news":
            wait_until(lambda: "copy right" in runner.commands)
        elif name == "right":
            with suppress(AssertionError):
                wait_until(runner._is_over)  # as a command that is told to stop
            stopped.append(runner._is_over())
            raise StoppedError

    def row_done() -> None:
        raise StorageError("table.md: no space left on device")

    runner.meet = meet
    with pytest.raises(StorageError, match="no space"):
        Work(apart, runner, lambda _: None).carry_out(["left", "right"], row_done)
    assert stopped == [True]


def wait_until(happens: Callable[[], bool]) -> None:
    """Look again and again, for 10 seconds at most."""
    end = time.monotonic() + 10
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_it_stops_in_time_and_the_table_is_as_far_as_it_is(folder: Path, tmp_path: Path) -> None:
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", tmp_path / "out")
    work = Work(place, InThisProcess(Interruption(), deadline=0.0), lambda _: None)
    with pytest.raises(StoppedError):
        work.carry_out(["single"], lambda: None)
    write_result(work)
    page = (tmp_path / "out/table.md").read_text(encoding="utf-8")
    assert "**0 of 5 figures are there**" in page
    assert page.count("not yet run") == 5


def test_a_test_without_text_is_an_error_of_its_rows(folder: Path, tmp_path: Path) -> None:
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", tmp_path / "out")
    from studies.tables.work import write_text

    empty = place.table.tests["dev"].model_copy(update={"path": str(tmp_path / "gone.tsv")})
    table = place.table.model_copy(update={"tests": {**place.table.tests, "dev": empty}})
    with pytest.raises(DataError, match=r"gone\.tsv"):
        write_text(Workplace(table, place.file, place.output), "dev")


class TestCommand:
    @pytest.fixture(autouse=True)
    def in_this_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(running, "CommandRunner", InThisProcess)

    def test_a_failure_is_the_exit_code_at_the_end(self, copied: tuple[Path, Path]) -> None:
        folder, output = copied
        found = CliRunner().invoke(tables, [str(folder / "table.yaml"), "--output", str(output)])
        assert found.exit_code == 1
        assert "# Numbers" in found.stdout
        assert "1 failed, the rest went on: broken: " in found.stderr

    def test_rows_can_be_chosen_and_listed(self, copied: tuple[Path, Path]) -> None:
        folder, output = copied
        given = [str(folder / "table.yaml"), "--output", str(output)]
        listed = CliRunner().invoke(tables, [*given, "--list"])
        assert listed.output.splitlines() == [
            "broken-row  Broken: needs broken, the translation of news, the translation of dev",
            "single      One: done",
            "averaged    Mean: done",
            "known       Elsewhere: published figures",
        ]
        chosen = CliRunner().invoke(tables, [*given, "--only", "single", "--minutes", "5"])
        assert chosen.exit_code == 0, chosen.output
        unknown = CliRunner().invoke(tables, [*given, "--only", "second"])
        assert unknown.exit_code == 2
        assert "--only second: no such row; rows are broken-row, single" in unknown.output

    def test_a_tokeniser_of_one_test_that_is_missing_is_told_before_anything_is_made(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "mecab_ko", None)
        name = "sacrebleu.tokenizers.tokenizer_ko_mecab"
        monkeypatch.delitem(sys.modules, name, raising=False)
        shutil.copytree(folder, tmp_path / "table")
        change(tmp_path / "table", tests__dev__bleu_tokenize="ko-mecab")
        output = tmp_path / "out"
        file = tmp_path / "table/table.yaml"
        found = CliRunner().invoke(tables, [str(file), "--output", str(output)])
        assert found.exit_code == MissingExtraError.exit_code, found.output
        assert not output.exists()


def test_tests_can_be_beside_one_another(copied: tuple[Path, Path]) -> None:
    """Each row is a line, with the figures of all tests, or why there are none."""
    folder, output = copied
    content = yaml.safe_load((folder / "table.yaml").read_text(encoding="utf-8"))
    content["sections"][0]["tests_beside"] = True
    (folder / "table.yaml").write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    work = made(*copied)
    references = (output / "text/news.reference").read_text(encoding="utf-8").splitlines()
    pretend(work, "single.news", [line[1:] for line in references])
    pretend(work, "averaged.news", references)
    write_result(work)
    lines = (output / "table.md").read_text(encoding="utf-8").split("## All\n\n")[1].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[: 2 + 4]]
    head = rows[0]
    assert head == [
        "system",
        *(f"news: {name}" for name in ("chrF2 (95 %)", "difference (p)", "BLEU")),
        *(f"dev: {name}" for name in ("chrF2 (95 %)", "difference (p)", "BLEU")),
        *("steps", "target tokens", "minutes", "minutes in all", "published"),
    ]
    assert {len(row) for row in rows} == {len(head)}
    broken, single, averaged, known = (dict(zip(head, row, strict=True)) for row in rows[2:])
    assert "neither a run" in broken["news: chrF2 (95 %)"]
    assert averaged["news: chrF2 (95 %)"] == "100.00 ± 0.00"
    assert averaged["news: difference (p)"].startswith("+")
    assert averaged["dev: chrF2 (95 %)"] == ""
    assert single["dev: chrF2 (95 %)"] and single["steps"] == "4"
    assert single["news: chrF2 (95 %)"] != single["dev: chrF2 (95 %)"]
    assert single["published"] == "12.3" and known["published"] == "45.6 (A 2001)"


def test_intervals_seconds_and_rates_of_terms_are_columns_where_asked_for(
    copied: tuple[Path, Path],
) -> None:
    folder, _ = copied
    (folder / "terms.tsv").write_text("one\teins\n", encoding="utf-8")
    metrics = ["chrf", "terms"]
    change(folder, evaluation__metrics=metrics, difference_samples=50, show_seconds=True)
    with pytest.raises(ConfigError, match="the metric terms needs a glossary"):
        made(*copied)
    change(folder, tests__news__glossary="terms.tsv", tests__dev__glossary="terms.tsv")
    work = made(*copied)
    output = work.place.output
    references = (output / "text/news.reference").read_text(encoding="utf-8").splitlines()
    pretend(work, "single.news", [line[1:] for line in references])
    pretend(work, "averaged.news", references)
    write_result(work)
    page = (output / "table.md").read_text(encoding="utf-8")
    assert "| difference (p) | terms | seconds | steps |" in page
    (section,) = json.loads((output / "table.json").read_text(encoding="utf-8"))["sections"]
    lines = {(line["row"], line["test"]): line for line in section["lines"]}
    low, high = lines["averaged", "news"]["interval"]
    assert 0 < low < lines["averaged", "news"]["difference"]["difference"] < high
    assert f" [{low:+.2f}, {high:+.2f}] (" in page
    assert lines["single", "news"]["translation_seconds"] == 1.0
    assert lines["single", "news"]["scores"][1]["name"] == "terms"
    change(folder, difference_samples=0)
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", output)
    shown = write_result(Work(place, work.runner, print))["All"]
    assert all(one.interval is None for one in shown), "they are not asked for any more"
    # Another glossary is another score.
    before = page
    (folder / "terms.tsv").write_text("two\tzwei\nthree\tnie\n", encoding="utf-8")
    write_result(work)
    assert (output / "table.md").read_text(encoding="utf-8") != before
