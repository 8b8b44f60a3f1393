"""What a table lacks is made, row by row, and what is done is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_table import TABLE, InThisProcess, change, commands, made

from dragoman.core.errors import DataError
from dragoman.core.files import write_json
from dragoman.run.run_directory import claim
from dragoman.text.lines import read_lines
from dragoman.training.interruption import Interruption
from studies.tables.listing import list_rows, remaining_commands
from studies.tables.plan import TestText, read_table
from studies.tables.result import write_result
from studies.tables.running import StoppedError
from studies.tables.work import (
    Cell,
    Work,
    is_translated,
    text_of,
    translation_command,
    translations,
    write_text,
)
from studies.tables.workplace import (
    STAGES,
    TRANSLATIONS,
    BusyPlaceError,
    State,
    Workplace,
    shell,
)


def test_rows_need_their_stages_and_a_failure_ends_its_row_alone(finished: Work) -> None:
    assert commands(finished) == [
        *("average", "train", "translate", "translate"),
        *("average", "translate"),
    ]
    assert list(finished.failures) == ["broken"]
    assert "neither a run with checkpoints, nor" in finished.failures["broken"]
    assert list(finished.problems) == ["broken-row.news", "broken-row.dev"]


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


WORDS = "embed translate {here}/en.vec {here}/de.vec"


def word_by_word(folder: Path) -> None:
    """Add a row that translates the news by two files of vectors."""
    for name, word in (("en.vec", "one"), ("de.vec", "eins")):
        (folder / name).write_text(f"1 2\n{word} 0.6 0.8\n", encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(json.dumps(TABLE["sections"]))
    rows[0]["rows"]["words"] = {"label": "Word by word", "translate": {"news": WORDS}}
    change(folder, sections=rows)


def test_a_row_may_translate_word_by_word(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    word_by_word(folder)
    work = made(folder, output, ["words"])
    assert not work.failures
    assert commands(work) == ["embed"]
    translated = translations(work.place, Cell("words", "news", WORDS)).read_text("utf-8")
    assert "eins" in translated
    assert "one" not in translated.split()


def test_what_reads_another_file_is_translated_again(copied: tuple[Path, Path]) -> None:
    folder, output = copied
    word_by_word(folder)
    work = made(folder, output, ["words"])
    assert commands(made(folder, output, ["words"])) == []
    record = work.place.record(TRANSLATIONS, "words.news")
    del record["files"]  # as older releases wrote it: of which vectors, nobody knows
    write_json(work.place.record_file(TRANSLATIONS, "words.news"), record)
    assert commands(made(folder, output, ["words"])) == ["embed"]
    (folder / "de.vec").write_text("1 2\nein 0.6 0.8\n", encoding="utf-8")
    assert commands(made(folder, output, ["words"])) == ["embed"]
    (folder / "de.vec").unlink()  # whatever it was, it cannot be asked
    assert commands(made(folder, output, ["words"])) == []
    assert "files" not in work.place.record(TRANSLATIONS, "single.news")


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
        assert work.busy["averaged.news"] == "one"
        assert not work.problems
    with claim(output / "one"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("dragoman.run.run_directory._held", {})  # as in another process
        with pytest.raises(BusyPlaceError), place.held(STAGES, "one"):
            pass


def test_it_stops_in_time_and_the_table_is_as_far_as_it_is(folder: Path, tmp_path: Path) -> None:
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", tmp_path / "out")
    work = Work(place, InThisProcess(Interruption(), deadline=0.0), lambda _: None)
    with pytest.raises(StoppedError):
        work.carry_out(["single"], lambda: None)
    write_result(work)
    page = (tmp_path / "out/table.md").read_text(encoding="utf-8")
    assert "**0 of 5 figures are there**" in page
    assert page.count("not yet run") == 5


def test_each_text_of_a_test_is_a_line(folder: Path, tmp_path: Path) -> None:
    """Some formats can hold line breaks; other signs that end lines elsewhere are as they were."""
    pairs = [{"en": "One.\nTwo.", "de": "Eins.\r\nZwei.\r"}, {"en": "a\u2028b", "de": "c\rd"}]
    path = tmp_path / "test.jsonl"
    path.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs), encoding="utf-8")
    table = read_table(folder / "table.yaml")
    test = TestText(path=str(path), source="en", target="de")
    table = table.model_copy(update={"tests": {"news": test}})
    text = write_text(Workplace(table, folder / "table.yaml", tmp_path / "out"), "news")
    assert list(read_lines(text.source)) == ["One. Two.", "a\u2028b"]
    assert list(read_lines(text.reference)) == ["Eins. Zwei. ", "c\rd"]


def test_a_test_without_text_is_an_error_of_its_rows(folder: Path, tmp_path: Path) -> None:
    place = Workplace(read_table(folder / "table.yaml"), folder / "table.yaml", tmp_path / "out")
    empty = place.table.tests["dev"].model_copy(update={"path": str(tmp_path / "gone.tsv")})
    table = place.table.model_copy(update={"tests": {**place.table.tests, "dev": empty}})
    with pytest.raises(DataError, match=r"gone\.tsv"):
        write_text(Workplace(table, place.file, place.output), "dev")
