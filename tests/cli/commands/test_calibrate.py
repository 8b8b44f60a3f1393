"""The command calibrate, and what translate prints of confidence, as a user sees them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import CommandLine, one_error
from planted_calibration import plant_calibration
from tiny_model import save_tiny_adapter, save_tiny_model

from dragoman import load
from dragoman.saved.system import read_system

LINES = [" ".join(row) for row in np.random.default_rng(1).choice([*"abcde"], (110, 4)).tolist()]
SHOWN = ["a b c d e", "", "e d", "c b"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and text with references of which half are its own translations."""
    folder = tmp_path_factory.mktemp("calibrate")
    model = save_tiny_model(folder / "model", seed=8, beam=2)
    with load(model, device="cpu") as translator:
        found = translator.translate(LINES)
    assert all(found)
    references = [text if number % 2 else "zzzz" for number, text in enumerate(found)]
    write(folder / "dev.en", LINES)
    write(folder / "dev.de", references)
    write(folder / "wrong.de", ["zzzz"] * len(LINES))
    write(folder / "in.en", SHOWN)
    plant_calibration(save_tiny_model(folder / "planted"))
    return folder


def write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_calibrate_check_and_translate(folder: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    model = Path(shutil.copytree(folder / "model", tmp_path / "model"))
    text = folder / "dev.en", folder / "dev.de"
    missing = one_error(dragoman("translate", model, "--confidence", stdin=b"a"), 2)
    assert "confidence is not calibrated; do that with 'dragoman calibrate" in missing

    done = dragoman("calibrate", model, *text, "--exact")
    assert done.code == 0, done.err
    assert "dev.en + dev.de, cross-validated\nright is: equal to the reference\n" in done.out
    assert "110 lines: 50.0% right, mean confidence " in done.out
    assert re.search(r"expected calibration error: 0\.\d{3} \(95 %: ", done.out)
    assert f"Written: {model / 'confidence.json'}" in done.out

    picture = tmp_path / "pictures" / "diagram.svg"
    checked = dragoman("calibrate", model, *text, "--check", "--picture", picture, "--json")
    assert checked.code == 0, checked.err
    values = json.loads(checked.out)
    assert values["output"] is None
    assert values["right"] == {"kind": "exact", "above": 60.0}
    assert values["calibrated_on"]["lines"] == values["reliability"]["lines"] == 110
    assert values["reliability"]["confidence"] == pytest.approx(0.5, abs=1e-3)
    assert sum(one["lines"] for one in values["reliability"]["bins"]) == 110
    assert picture.read_text(encoding="utf-8").startswith("<svg")

    printed = dragoman("translate", model, "--confidence", stdin=b"a b\n")
    confidence, text_of_it = printed.out.rstrip("\n").split("\t")
    with load(model, device="cpu", confidence=True) as translator:
        ((best,),) = translator.translate_nbest(["a b"])
    assert best.confidence is not None
    assert best.confidence == pytest.approx(float(confidence), abs=1e-3)
    assert text_of_it == best.text


def test_an_ensemble_and_other_settings_have_a_file(
    folder: Path, dragoman: CommandLine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text, file = (folder / "dev.en", folder / "dev.de"), tmp_path / "new" / "both.json"
    models = folder / "model", folder / "planted"
    refused = one_error(dragoman("calibrate", *models, *text, "--exact"), 2)
    assert "name a file with --output" in refused
    options = "--exact", "--early-end", "quick"
    quick = dragoman("calibrate", models[0], *text, *options, "--output", file)
    assert quick.code == 0, quick.err
    assert f"dragoman translate MODEL --confidence --calibration {file}" in quick.out
    unread = dragoman("translate", models[0], "--calibration", file, stdin=b"a\n")
    assert "--calibration is read with --confidence" in one_error(unread, 2)
    described = tmp_path / "system.yaml"
    used = ("translate", models[0], "--calibration", file, "--write-system", described)
    assert dragoman(*used, *options[1:], stdin=b"a\n").code == 0
    assert caplog.messages == []
    assert read_system(described).confidence == file
    as_described = dragoman("translate", "--system", described, "--json", stdin=b"a\n")
    assert json.loads(as_described.out)["confidence"] > 0
    with_column = dragoman("translate", "--system", described, "--confidence", stdin=b"a\n")
    assert float(with_column.out.partition("\t")[0]) > 0  # there is none beside the weights
    dragoman("translate", models[0], "--calibration", file, "--confidence", stdin=b"a\n")
    assert "calibrated with other settings (early_end exact instead of quick)" in caplog.text


def test_that_with_an_adapter_does_not_replace_the_models_own(
    folder: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(folder / "model", tmp_path / "model"))
    shutil.copy(folder / "planted" / "confidence.json", model)
    own = (model / "confidence.json").read_bytes()
    adapter = save_tiny_adapter(tmp_path / "ui.safetensors", model, 1)
    asked = ("calibrate", model, folder / "dev.en", folder / "dev.de", "--adapter", adapter)
    assert "without an adapter; name a file" in one_error(dragoman(*asked), 2)
    file = tmp_path / "ui.json"
    named = dragoman(*asked, "--above", 5, "--output", file)
    assert named.code == 0, named.err
    use = f"--confidence --adapter {adapter} --calibration {file}"
    assert f"dragoman translate MODEL {use} < input.txt" in named.out
    assert (model / "confidence.json").read_bytes() == own
    without = dragoman(*("translate", model, "--confidence", "--calibration", file), stdin=b"a\n")
    assert "of other weights" in one_error(without, 4)


def test_only_a_calibration_is_replaced(
    folder: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    model = Path(shutil.copytree(folder / "model", tmp_path / "model"))
    asked = ("calibrate", model, folder / "dev.en", folder / "dev.de", "--exact", "--output")
    (tmp_path / "other.json").write_text('{"format": 1}', encoding="utf-8")
    for file in (model / "model.safetensors", model / "config.yaml", tmp_path / "other.json"):
        before = file.read_bytes()
        line = one_error(dragoman(*asked, file), 2)
        assert f"{file}: this file is no calibration, and would be lost; name another" in line
        assert file.read_bytes() == before
    shutil.copy(folder / "planted" / "confidence.json", tmp_path / "old.json")
    assert dragoman(*asked, tmp_path / "old.json").code == 0
    assert json.loads((tmp_path / "old.json").read_text(encoding="utf-8"))["lines"] == 110


@pytest.mark.parametrize("option", ["--beam=2", "--unknown=copy", "--degenerate=keep"])
def test_settings_are_those_of_translate(
    option: str, folder: Path, dragoman: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    text = folder / "in.en", folder / "in.en"
    dragoman("calibrate", folder / "planted", *text, "--check", option)
    name, value = option.removeprefix("--").split("=")
    assert f"calibrated with other settings ({name} {value} instead of" in caplog.text


def test_columns_come_in_their_order(folder: Path, dragoman: CommandLine) -> None:
    planted, given = folder / "planted", ("--input", folder / "in.en")
    with load(planted, device="cpu", confidence=True) as translator:
        found = translator.translate_nbest(SHOWN, nbest=2)
    plain = dragoman("translate", planted, *given, "--confidence").out.splitlines()
    assert [line.partition("\t")[2] for line in plain] == [one[0].text for one in found]
    assert plain[1] == "\t"
    both = dragoman("translate", planted, *given, "--confidence", "--scores").out.splitlines()
    score, confidence, text = both[0].split("\t")
    assert float(score) == pytest.approx(found[0][0].score, abs=1e-3)
    assert found[0][0].confidence == pytest.approx(float(confidence), abs=1e-3)
    assert text == found[0][0].text
    nbest = dragoman("translate", planted, *given, "--confidence", "--nbest", 2)
    rows = [line.split("\t") for line in nbest.out.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "2", "3", "3", "4", "4"]
    wanted = [one.confidence for ranked in found for one in ranked]
    assert [float(row[2]) if row[2] else None for row in rows] == [
        None if one is None else pytest.approx(one, abs=1e-3) for one in wanted
    ]


def test_lines_below_a_bound_are_flagged(
    folder: Path, dragoman: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    planted, given = folder / "planted", ("--input", folder / "in.en")
    with load(planted, device="cpu", confidence=True) as translator:
        known = [one[0].confidence for one in translator.translate_nbest(SHOWN)]
    present = sorted(one for one in known if one is not None)
    bound = (present[0] + present[1]) / 2
    lowest = known.index(present[0]) + 1
    flagged = dragoman("translate", planted, *given, "--flag-below", bound)
    assert flagged.code == 0
    assert "\t" not in flagged.out
    assert caplog.messages == [
        f"line {lowest}: confidence {present[0]:.2f}, below {bound:g}",
        "flagged: 1 of 4 lines",
    ]
    caplog.clear()
    as_json = dragoman("translate", planted, *given, "--flag-below", bound, "--json").out
    rows = [json.loads(line) for line in as_json.splitlines()]
    assert [row["flagged"] for row in rows] == [number == lowest for number in (1, 2, 3, 4)]
    assert rows[1]["confidence"] is None
    caplog.clear()
    assert dragoman("translate", planted, *given, "--flag-below", 0).code == 0
    assert caplog.messages == []


def test_a_refused_line_is_flagged_and_has_no_confidence(
    dragoman: CommandLine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = plant_calibration(save_tiny_model(tmp_path / "model", max_source_pieces=3))
    stdin = b"a b c d e a b c\n"
    found = dragoman("translate", model, "--flag-below", 0, "--json", stdin=stdin)
    assert found.code == 3
    row = json.loads(found.out)
    assert (row["confidence"], row["flagged"]) == (None, True)
    assert caplog.messages[-1] == "flagged: 1 of 1 lines"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--exact", "--above", 50], "--exact and --above exclude each other"),
        (["--check", "--above", 50], "--check measures the calibration as it is"),
        (["--calibration", "c.json"], "--calibration is read with --check"),
        (["--picture", "a.png"], "pictures are SVG"),
        (["--above", 100], "--above"),
        (["--dev-set", "dev"], "leave out SOURCE REFERENCE"),
        (["--output", "."], "this is a directory"),
        (["--output", "a.svg", "--picture", "a.svg"], "--picture a.svg: this is the --output"),
        (["--check"], "confidence.json: no such file"),
        (["--via", "fr", "--to", "de"], "this system has several"),
        (["--adapter", "ui=runs/ui"], "these change by domain; name one"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], message: str, folder: Path, dragoman: CommandLine
) -> None:
    text = folder / "dev.en", folder / "dev.de"
    outcome = dragoman("calibrate", folder / "model", *text, *arguments)
    assert message in one_error(outcome, 2)
    assert not (folder / "model" / "confidence.json").exists()


def test_a_test_set_is_only_measured(
    trained: Path, text: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    write(tmp_path / "other.de", ["x"])
    files = text / "test.tsv", tmp_path / "other.de"
    refused = one_error(dragoman("calibrate", trained, *files), 2)
    assert "this is the test set news" in refused
    checked = dragoman("calibrate", trained, *files, "--check")
    assert "test set" not in checked.err


def test_nothing_right_and_no_dev_set(folder: Path, dragoman: CommandLine) -> None:
    wrong = dragoman("calibrate", folder / "model", folder / "dev.en", folder / "wrong.de")
    assert "0 of 110 translations are right (chrF above 60)" in one_error(wrong, 3)
    none = dragoman("calibrate", folder / "model")
    assert "not a run, so it has no dev set" in one_error(none, 2)
    kept = ("--output", folder / "dev.de")
    text = folder / "dev.en", folder / "dev.de"
    assert "this is an input" in one_error(dragoman("calibrate", folder / "model", *text, *kept), 2)
