from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import LINES, CommandLine, one_error
from tiny_model import save_tiny_model

from dragoman import load
from dragoman.data.store import Store
from dragoman.saved.model import read_config
from dragoman.saved.system import read_system
from dragoman.search import SearchConfig
from dragoman.text.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.translation.engines.engine import TorchEngine


def test_standard_input_and_files_give_the_same(
    trained: Path, source: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    expected = load(str(trained)).translate(LINES)
    piped = dragoman("translate", trained, stdin=source.read_bytes())
    assert piped.code == 0
    assert piped.out.split("\n") == [*expected, ""]
    archive = tmp_path / "in.en.gz"
    archive.write_bytes(gzip.compress(source.read_bytes()))
    output = tmp_path / "new" / "out.de"
    written = dragoman(
        "translate", trained, "--input", source, "--input", archive, "--output", output
    )
    assert (written.code, written.out) == (0, "")
    assert output.read_text(encoding="utf-8").split("\n") == [*expected, *expected, ""]


def test_a_dash_is_a_standard_stream(
    trained: Path,
    source: Path,
    dragoman: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    given = source.read_bytes()
    expected = dragoman("translate", trained, stdin=given).out
    streams = "--input", source, "--input", "-", "--output", "-"
    found = dragoman("translate", trained, *streams, stdin=given)
    assert found.out == expected * 2
    assert not Path("-").exists()
    assert dragoman("translate", trained, "--output", "./-", stdin=given).out == ""
    assert Path("-").read_text(encoding="utf-8") == expected


def test_a_line_gives_a_line(trained: Path, dragoman: CommandLine) -> None:
    stdin = "\ufeffone\r\n\r\n \t\nseven\u2028eight\x0bnine".encode()
    lines = dragoman("translate", trained, "--buffer-lines", 1, stdin=stdin).out.split("\n")
    assert len(lines) == 5
    assert lines[1:3] == ["", ""]
    assert dragoman("translate", trained).out == ""


def test_no_text_is_replaced_by_its_translation(
    trained: Path, source: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    for name in ("text.en", "link.en"):
        (tmp_path / "text.en").write_bytes(source.read_bytes())
        output = tmp_path / name
        if name == "link.en":
            output.symlink_to("text.en")
        arguments = ["translate", trained, "--input", tmp_path / "text.en", "--output", output]
        assert f"--output {output}: this is an input" in one_error(dragoman(*arguments), 2)
        with (tmp_path / "text.en").open("rb") as stream:
            piped = subprocess.run(
                [sys.executable, "-m", "dragoman", "translate", "x", "--output", output],
                stdin=stream,
                capture_output=True,
                text=True,
                check=False,
            )
        assert "would be overwritten; name another file" in piped.stderr
        assert (tmp_path / "text.en").read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    "option",
    ["--glossary", "--keep", "--calibration", "--shortlist-file", "--adapter", "--system"],
)
@pytest.mark.parametrize("written", ["--output", "--alignment"])
def test_no_file_of_settings_is_replaced_by_translations(
    option: str, written: str, trained: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("one\teins\n", encoding="utf-8")
    models = [] if option == "--system" else [trained]
    outcome = dragoman("translate", *models, option, file, "--json", written, file, stdin=b"one\n")
    assert f"{written} {file}: this is an input" in one_error(outcome, 2)
    assert file.read_text(encoding="utf-8") == "one\teins\n"


@pytest.mark.parametrize("written", ["--output", "--alignment"])
def test_no_file_that_a_description_names_is_replaced_by_translations(
    written: str, trained: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    glossary, system = tmp_path / "terms.tsv", tmp_path / "system.yaml"
    glossary.write_text("one\teins\n", encoding="utf-8")
    system.write_text(f"models: [{trained}]\nterms: {{glossary: terms.tsv}}\n", encoding="utf-8")
    outcome = dragoman("translate", "--system", system, written, glossary, stdin=b"one\n")
    assert f"{written} {glossary}: this is an input" in one_error(outcome, 2)
    assert glossary.read_text(encoding="utf-8") == "one\teins\n"


def test_a_lost_placeholder_is_told_by_the_exit_code(
    trained: Path, dragoman: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    """The vocabulary has no braces, so that the placeholder cannot be kept."""
    stdin = b"one\none {zzz}\n"
    outcome = dragoman("translate", trained, "--json", stdin=stdin)
    assert "1 of 2 translations lack or invent placeholders" in one_error(outcome, 3)
    assert "the first is line 2: '{zzz}'" in outcome.err
    assert "line 2: the translation lacks '{zzz}' (the target vocabulary lacks" in caplog.text
    assert "1 of 2 lines: the translation lacks or invents something" in caplog.text
    good, bad = map(json.loads, outcome.out.splitlines())
    assert (good["missing"], good["invented"], good["flagged"]) == ([], [], False)
    assert (bad["missing"], bad["flagged"]) == (["{zzz}"], True)
    plain = dragoman("translate", trained, "--json", "--protect", "none", stdin=stdin)
    assert plain.code == 0
    same, _ = map(json.loads, plain.out.splitlines())
    assert same["translation"] == good["translation"]
    assert (same["score"], "missing" in same, same["flagged"]) == (good["score"], False, False)


def test_kinds_are_gathered(trained: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    """The last of several values would win otherwise."""
    file = tmp_path / "system.yaml"
    given = ("--protect", "tags,urls", "--protect", "numbers", "--write-system", file)
    assert dragoman("translate", trained, *given, stdin=b"one\n").code == 0
    system = read_system(file)
    assert system.terms is not None and system.terms.protect == ("tags", "urls", "numbers")
    outcome = dragoman("translate", trained, "--protect", "none,tags", stdin=b"one\n")
    assert "none goes with no other kind" in one_error(outcome, 2)


@pytest.mark.parametrize("kinds", ["", ", "])
def test_protecting_nothing_is_no_protection(
    kinds: str, trained: Path, dragoman: CommandLine
) -> None:
    outcome = dragoman("translate", trained, "--protect", kinds, stdin=b"one\n")
    assert "names nothing; write it like one,another" in one_error(outcome, 2)


def test_a_description_replaces_no_text(
    trained: Path, source: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    text, output = tmp_path / "text.en", tmp_path / "out.de"
    text.write_bytes(source.read_bytes())
    link = tmp_path / "link.en"
    link.symlink_to("text.en")
    command = ["translate", trained, "--write-system"]
    for file in (text, link):
        line = one_error(dragoman(*command, file, "--input", text), 2)
        assert f"--write-system {file}: this is an input" in line
    line = one_error(dragoman(*command, output, "--input", text, "--output", output), 2)
    assert f"--write-system {output}: this is the output" in line
    assert not output.exists()
    with text.open("rb") as stream:
        piped = subprocess.run(
            [sys.executable, "-m", "dragoman", *map(str, command), text],
            stdin=stream,
            capture_output=True,
            text=True,
            check=False,
        )
    assert "would be overwritten; name another file" in piped.stderr
    with output.open("wb") as stream:
        piped = subprocess.run(
            [sys.executable, "-m", "dragoman", *map(str, command), output],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "this is the output" in piped.stderr
    assert text.read_bytes() == source.read_bytes()


class TestJson:
    """As docs/command-line.md promises it to scripts."""

    def test_an_object_a_line(self, trained: Path, source: Path, dragoman: CommandLine) -> None:
        outcome = dragoman("translate", trained, "--input", source, "--nbest", 3, "--json")
        assert (outcome.code, outcome.err) == (0, "")
        found = [json.loads(line) for line in outcome.out.splitlines()]
        expected = load(str(trained)).translate_nbest(LINES, nbest=3, beam=3)
        assert len(found) == len(LINES)
        for number, (one, translations) in enumerate(zip(found, expected, strict=True), 1):
            assert (one["line"], one["source"]) == (number, LINES[number - 1])
            assert one["refused"] is None
            for values, translation in zip([one, *one["alternatives"]], translations, strict=True):
                for key, attribute in (("translation", "text"), ("pieces", "pieces")):
                    assert values[key] == getattr(translation, attribute)
                for key in ("score", "log_probability"):
                    assert values[key] == pytest.approx(getattr(translation, key), rel=1e-4)
                assert values["ended"] is translation.ended

    def test_text_is_exact_and_sources_stay_with_their_lines(
        self, trained: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read = SentencePieceVocabulary.decode
        monkeypatch.setattr(
            SentencePieceVocabulary, "decode", lambda self, ids: f"a\tä\n{read(self, ids)}"
        )
        stdin = "ein\u2028s\tx\n\nzwei\n".encode()
        for lines in (1, 2, 10):
            outcome = dragoman("translate", trained, "--buffer-lines", lines, "--json", stdin=stdin)
            found = [json.loads(line) for line in outcome.out.strip().split("\n")]
            assert [one["source"] for one in found] == ["ein\u2028s\tx", "", "zwei"]
            assert [one["translation"][:4] for one in found] == ["a\tä\n", "", "a\tä\n"]

    def test_what_is_refused_says_why(self, trained: Path, dragoman: CommandLine) -> None:
        outcome = dragoman("translate", trained, "--json", stdin=b"x " * 2000 + b"\nseven\n")
        assert outcome.code == 3
        refused, fine = [json.loads(line) for line in outcome.out.splitlines()]
        assert refused["refused"].startswith("line 1: ")
        assert (refused["translation"], refused["score"], refused["ended"]) == ("", None, False)
        assert fine["refused"] is None

    def test_scores_are_in_it(self, trained: Path, dragoman: CommandLine) -> None:
        line = one_error(dragoman("translate", trained, "--json", "--scores"), 2)
        assert "leave out --scores" in line


def test_scores_of_tokens_are_in_json_if_wanted(trained: Path, dragoman: CommandLine) -> None:
    def objects(*options: object) -> list[dict[str, Any]]:
        out = dragoman("translate", trained, "--json", *options, stdin=b"one\n\n").out
        return [json.loads(line) for line in out.splitlines()]

    found, empty = objects("--token-scores", "--nbest", 2)
    for one in (found, *found["alternatives"]):
        assert len(one["token_scores"]) == len(one["pieces"]) + 1
        assert math.fsum(one["token_scores"]) == pytest.approx(one["log_probability"])
    assert empty["token_scores"] is None
    assert "token_scores" not in objects()[0]
    assert "needs --json" in one_error(dragoman("translate", trained, "--token-scores"), 2)


def test_nbest_lines_are_numbered_and_sorted(
    trained: Path, source: Path, dragoman: CommandLine
) -> None:
    out = dragoman("translate", trained, "--input", source, "--nbest", 3).out
    rows = [line.split("\t") for line in out.splitlines()]
    assert {len(row) for row in rows} == {3}
    for number in range(1, len(LINES) + 1):
        scores = [float(score) for line, score, _ in rows if line == str(number)]
        assert scores == sorted(scores, reverse=True)
        assert 1 <= len(scores) <= (3 if LINES[number - 1] else 1)


def test_scores_stand_before_the_translation(
    trained: Path, source: Path, dragoman: CommandLine
) -> None:
    plain = dragoman("translate", trained, "--input", source).out.splitlines()
    scored = dragoman("translate", trained, "--input", source, "--scores").out.splitlines()
    assert [line.split("\t", 1)[1] for line in scored] == plain
    assert all(float(line.split("\t")[0]) <= 0 for line in scored)


def test_options_reach_the_search(
    trained: Path, source: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[SearchConfig] = []
    search = TorchEngine.search

    def listen(self: TorchEngine, batches: Any, config: SearchConfig) -> Any:
        asked.append(config)
        return search(self, batches, config)

    monkeypatch.setattr(TorchEngine, "search", listen)
    options = ("--length-penalty", 1, "--coverage-penalty", 0.5, "--early-end", "quick")
    assert dragoman("translate", trained, "--input", source, *options).code == 0
    assert dragoman("translate", trained, "--input", source).code == 0
    assert [(c.length_penalty, c.coverage_penalty, c.early_end) for c in asked] == [
        (1.0, 0.5, "quick"),
        (0.6, 0.0, "exact"),
    ]


@pytest.mark.parametrize(
    "option", [("--length-penalty", "inf"), ("--coverage-penalty", "nan"), ("--beam", 10**9)]
)
def test_numbers_without_sense_are_refused(
    option: tuple[str, object], trained: Path, source: Path, dragoman: CommandLine
) -> None:
    outcome = dragoman("translate", trained, "--input", source, *option)
    assert option[0].strip("-") in one_error(outcome, 2)
    assert outcome.out == ""


def test_an_ensemble_of_a_model_with_itself_is_that_model(
    trained: Path, source: Path, dragoman: CommandLine
) -> None:
    alone = dragoman("translate", trained, "--input", source, "--scores").out
    twice = dragoman("translate", trained, trained / "model", "--input", source, "--scores").out
    assert [line.split("\t")[1] for line in twice.splitlines()] == [
        line.split("\t")[1] for line in alone.splitlines()
    ]


def test_a_description_replaces_none_but_another(
    trained: Path, config: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    recipe, letter = tmp_path / "my.yaml", tmp_path / "letter.txt"
    recipe.write_bytes(config.read_bytes())
    letter.write_text("seven\n", encoding="utf-8")
    documents: tuple[list[Path], ...] = ([], [letter])
    for more in documents:
        command = ["translate", trained, *more, "--write-system", recipe]
        line = one_error(dragoman(*command, stdin=b"seven\n"), 2)
        assert f"--write-system {recipe}: this file describes no translation system" in line
    assert recipe.read_bytes() == config.read_bytes()
    assert not (tmp_path / "letter.de.txt").exists()
    file = tmp_path / "system.yaml"
    file.touch()
    for beam in (1, 3):
        asked = ["--beam", beam, "--write-system", file]
        assert dragoman("translate", trained, *asked, stdin=b"seven\n").code == 0
        assert read_system(file).search == {"beam": beam}


def test_bad_bytes_are_named_by_line(trained: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("translate", trained, "--buffer-lines", 1, stdin=b"one\ntwo\nthr\xffee\n")
    assert "standard input:3" in one_error(outcome, 3)
    assert len(outcome.out.splitlines()) == 2  # what came before is not lost


def test_a_failing_translation_leaves_the_output_file_alone(
    trained: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    output.write_text("before", encoding="utf-8")
    one_error(dragoman("translate", trained, "--output", output, stdin=b"\xff"), 3)
    assert output.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [output]


def test_a_line_of_100_000_characters_is_refused_and_costs_no_other(
    trained: Path, dragoman: CommandLine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long = "x" * 100_000
    stdin = f"one\n{long}\nthe third day\n{long}\n".encode()
    one, third = load(str(trained)).translate(["one", "the third day"])
    outcome = dragoman("translate", trained, stdin=stdin)
    assert outcome.out.split("\n") == [one, "", third, "", ""]
    line = one_error(outcome, 3)
    assert "2 lines cannot be translated and are left empty" in line
    assert "first is line 2: 100001 pieces" in line
    warned = [record.message for record in caplog.records if "left empty" in record.message]
    assert [message.split(":")[0] for message in warned] == ["line 2", "line 4"]
    output = tmp_path / "out.de"
    one_error(dragoman("translate", trained, "--output", output, stdin=stdin), 3)
    assert output.read_text(encoding="utf-8") == outcome.out


def test_refused_lines_have_the_lowest_score(trained: Path, dragoman: CommandLine) -> None:
    stdin = b"x" * 100_000 + b"\none\n"
    assert dragoman("translate", trained, "--scores", stdin=stdin).out.startswith("-inf\t\n")
    assert dragoman("translate", trained, "--nbest", 2, stdin=stdin).out.startswith("1\t-inf\t\n")


def test_missing_model(dragoman: CommandLine, tmp_path: Path) -> None:
    assert "nowhere" in one_error(dragoman("translate", tmp_path / "nowhere"), 4)


def test_unknown_device(trained: Path, dragoman: CommandLine) -> None:
    assert "abacus" in one_error(dragoman("translate", trained, "--device", "abacus"), 2)


def test_scores_of_given_translations(
    trained: Path, source: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    target = tmp_path / "out.de"
    target.write_text("einhundert Euro\n\nder dritte Tag\nsieben\n", encoding="utf-8")
    outcome = dragoman("score", trained, source, target)
    assert outcome.code == 0
    expected = load(str(trained)).score(LINES, target.read_text(encoding="utf-8").splitlines())
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert [int(tokens) for _, tokens in rows] == [line.tokens for line in expected]
    found = json.loads(dragoman("score", trained, source, target, "--json").out)
    assert [line["tokens"] for line in found["lines"]] == [line.tokens for line in expected]
    total = sum(line.log_probability for line in expected)
    assert found["log_probability"] == pytest.approx(total)
    assert found["perplexity"] == pytest.approx(math.exp(-total / found["tokens"]))
    assert f"perplexity {found['perplexity']:.3f}" in outcome.err


def test_scoring_unequal_files(
    trained: Path, source: Path, dragoman: CommandLine, tmp_path: Path
) -> None:
    target = tmp_path / "short.de"
    target.write_text("eins\n", encoding="utf-8")
    line = one_error(dragoman("score", trained, source, target), 3)
    assert "4 lines" in line
    assert "short.de" in line


def test_degenerate_translations_are_named_or_avoided(
    tmp_path: Path, dragoman: CommandLine, caplog: pytest.LogCaptureFixture
) -> None:
    model = save_tiny_model(tmp_path / "model", extra_length=30, length_ratio=0.1)
    stdin = b"a b c\n\ne d\n"
    kept = dragoman("translate", model, "--json", "--degenerate", "keep", stdin=stdin)
    found = [json.loads(line)["faults"] for line in kept.out.splitlines()]
    assert any("length" in faults for faults in found) and found[1] == []
    messages = list(caplog.messages)
    for number, faults in enumerate(found, 1):
        warned = [line for line in messages if line.startswith(f"line {number}: ")]
        assert len(warned) == bool(faults)
        assert all("the translation " in line and "; check it" in line for line in warned)
        assert all(("is far too long" in line) == ("length" in faults) for line in warned)
    avoided = dragoman("translate", model, "--json", stdin=stdin)
    lines = [json.loads(line) for line in avoided.out.splitlines()]
    assert sum(len(one["faults"]) for one in lines) < sum(map(len, found))
    assert avoided.code == kept.code == 0


def test_a_run_and_its_model_keep_the_usual_ratio_of_lengths(trained: Path) -> None:
    ratio = Store.open(trained / "data").length_ratio([0])
    assert ratio is not None and 0.2 < ratio < 5
    saved = read_config(trained / "model" / "config.yaml").search
    assert (
        saved["length_ratio"]
        == ratio
        == read_config(trained / "config.yaml").search["length_ratio"]
    )
    with load(str(trained)) as translator:
        assert translator.search.length_ratio == ratio
