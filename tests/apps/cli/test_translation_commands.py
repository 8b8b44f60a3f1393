from __future__ import annotations

import gzip
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import CommandLine, one_error
from tiny_model import save_tiny_model

from dragoman import load
from dragoman.data.store import Store
from dragoman.models.families.transformer_lm import TransformerLMConfig
from dragoman.saved.model import SavedConfig, build_model, read_config, save_model, weights_of
from dragoman.saved.system import read_system
from dragoman.search import SearchConfig
from dragoman.text.sentencepiece_vocabulary import SentencePieceVocabulary
from dragoman.text.vocabulary import Vocabularies
from dragoman.translation.engine import TorchEngine

LINES = ["one hundred euros", "", "the third day", "seven"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("input") / "in.en"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


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
    "option", ["--glossary", "--keep", "--calibration", "--shortlist-file", "--system"]
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


@pytest.mark.parametrize("kinds", ["", ", "])
def test_protecting_nothing_is_no_protection(
    kinds: str, trained: Path, dragoman: CommandLine
) -> None:
    outcome = dragoman("translate", trained, "--protect", kinds, stdin=b"one\n")
    assert "names nothing; write it like tags,numbers" in one_error(outcome, 2)


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


def test_sampling_repeats_with_its_seed(trained: Path, source: Path, dragoman: CommandLine) -> None:
    def sample(*options: object) -> str:
        return dragoman("translate", trained, "--input", source, "--sample", *options).out

    assert sample("--seed", 3) == sample("--seed", 3)
    assert sample("--seed", 3) != sample("--seed", 4)
    assert sample("--top-k", 1) == sample("--top-k", 1, "--seed", 9)


def test_more_samples_may_be_drawn_than_a_beam_is_wide(
    trained: Path, dragoman: CommandLine
) -> None:
    options = ["--sample", "--nbest", 1001]
    out = dragoman("translate", trained, *options, stdin=b"seven\n").out
    assert len(out.splitlines()) == 1001


@pytest.mark.parametrize("option", [["--top-k", "5"], ["--seed", "1"], ["--beam", "2", "--sample"]])
def test_options_that_do_not_go_together(
    option: list[str], trained: Path, dragoman: CommandLine
) -> None:
    assert "--sample" in one_error(dragoman("translate", trained, *option), 2)


def test_minimum_bayes_risk(trained: Path, source: Path, dragoman: CommandLine) -> None:
    def chosen(*options: object) -> str:
        outcome = dragoman("translate", trained, "--input", source, "--mbr", 4, *options)
        assert outcome.code == 0, outcome.err
        return outcome.out

    assert chosen("--seed", 3) == chosen("--seed", 3, "--utility", "chrf", "--epsilon", 0.02)
    best = [line.split("\t") for line in chosen("--nbest", 4, "--utility", "bleu").splitlines()]
    scores = [float(score) for number, score, _ in best if number == "1"]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 100 for score in scores)
    assert (
        chosen("--candidates", "beam", "--beam", 1)
        == dragoman("translate", trained, "--input", source, "--beam", 1).out
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--mbr", "1"], "1 is not in the range"),
        (["--mbr", "4", "--utility", "comet"], "'chrf', 'bleu'"),
        (["--mbr", "4", "--nbest", "5"], "nbest 5 is more than the 4 candidates"),
        (["--mbr", "4", "--sample"], "--sample prints samples"),
        (["--mbr", "4", "--beam", "2"], "--beam: --mbr chooses among samples"),
        (["--mbr", "4", "--early-end", "quick"], "--early-end: --mbr chooses among samples"),
        (["--sample", "--early-end", "quick"], "--early-end: this system samples"),
        (["--utility", "bleu"], "--utility needs --mbr"),
        (["--epsilon", "0.1"], "--epsilon needs --sample or --mbr"),
    ],
)
def test_options_of_minimum_bayes_risk_that_do_not_go_together(
    options: list[str], problem: str, trained: Path, dragoman: CommandLine
) -> None:
    assert problem in one_error(dragoman("translate", trained, *options), 2)


def test_minimum_bayes_risk_of_a_file(trained: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "system.yaml"
    asked = ["--mbr", 3, "--seed", 5]
    given = dragoman("translate", trained, *asked, "--write-system", file, stdin=b"seven\n")
    assert dragoman("translate", "--system", file, stdin=b"seven\n").out == given.out
    changed = tmp_path / "changed.yaml"
    dragoman("translate", "--system", file, "--utility", "bleu", "--write-system", changed)
    assert read_system(changed).search["mbr"] == {"samples": 3, "utility": "bleu"}
    line = one_error(dragoman("translate", "--system", file, "--sample"), 2)
    assert "--sample: this system chooses among samples" in line


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


@pytest.fixture(scope="module")
def models(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trained model, another of its kind and a language model with its vocabulary."""
    folder = tmp_path_factory.mktemp("models")
    vocabularies = Vocabularies.load(trained)
    kind = read_config(trained / "config.yaml").model
    language_model = TransformerLMConfig(layers=1, d_model=8, d_ff=8, heads=2)
    for name, config in (("other", kind), ("lm", language_model)):
        torch.manual_seed(3)
        weights = weights_of(build_model(config, vocabularies))
        save_model(folder / name, SavedConfig(model=config), vocabularies, weights)
    return folder


class TestSystems:
    """What translates, described on the command line or in a file."""

    def test_weights_reach_the_ensemble_and_a_file_holds_them(
        self, trained: Path, source: Path, models: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        file, both = tmp_path / "system.yaml", (trained, models / "other", "--scores")
        given = ("--weight", 0.9, "--weight", 0.1, "--beam", 2, "--input", source)
        weighted = dragoman("translate", *both, *given, "--write-system", file)
        assert weighted.code == 0
        system = read_system(file)
        assert (system.weights, system.search) == ((0.9, 0.1), {"beam": 2})
        assert dragoman("translate", "--system", file, "--scores", "--input", source) == weighted
        plain = dragoman("translate", *both, "--beam", 2, "--input", source)
        assert plain.out != weighted.out
        # What is said on the command line counts more than the file.
        even = ("--system", file, "--scores", "--weight", 1, "--weight", 1, "--input", source)
        assert dragoman("translate", *even).out == plain.out

    def test_a_language_model_and_a_prefix_are_heard(
        self, trained: Path, source: Path, models: Path, dragoman: CommandLine
    ) -> None:
        def translated(*options: object) -> str:
            outcome = dragoman("translate", trained, "--input", source, "--scores", *options)
            assert outcome.code == 0, outcome.err
            return outcome.out

        fused = translated("--lm", models / "lm", "--lm-weight", 0.5)
        assert fused != translated()
        assert translated("--lm", models / "lm", "--lm-weight", 0) == translated()
        begun = [line.split("\t")[1] for line in translated("--prefix", "ein").splitlines()]
        assert [line.startswith("ein") for line in begun] == [bool(line) for line in LINES]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((), "name at least one MODEL or --system FILE, but not both"),
            (("a", "--system", "b"), "name at least one MODEL or --system FILE, but not both"),
            (("a", "--weight", 1), "weights: .* is not read by one model"),
            (("a", "b", "--weight", 1), "one for each of the 2 models, found 1"),
            (("a", "b", "--weight", 0), "--weight"),
            (("a", "--lm-weight", 1), "--lm-weight needs a language model; name one with --lm"),
            (("--system", "nowhere.yaml"), "nowhere.yaml: no such configuration file"),
        ],
    )
    def test_what_makes_no_sense_is_told(
        self, arguments: tuple[object, ...], message: str, dragoman: CommandLine
    ) -> None:
        assert re.search(message, one_error(dragoman("translate", *arguments), 2))

    def test_nbest_of_a_file_is_that_of_the_option(
        self, trained: Path, source: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        file = tmp_path / "system.yaml"
        given = ("--input", source)
        asked = dragoman("translate", trained, "--nbest", 3, "--write-system", file, *given)
        assert asked.out.startswith("1\t")
        assert dragoman("translate", "--system", file, *given) == asked
        one = dragoman("translate", trained, "--nbest", 1, *given)
        assert dragoman("translate", "--system", file, "--nbest", 1, *given) == one

    def test_sampling_of_a_file_can_be_changed(
        self, trained: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        file, changed = tmp_path / "system.yaml", tmp_path / "changed.yaml"

        def written(*options: object) -> object:
            outcome = dragoman("translate", *options, "--write-system", changed)
            assert outcome.code == 0, outcome.err
            return read_system(changed).search["sampling"]

        assert written(trained, "--sample", "--top-k", 3) == {"top_k": 3}
        changed.rename(file)
        assert written("--system", file, "--sample", "--seed", 7) == {"top_k": 3, "seed": 7}
        assert written("--system", file, "--seed", 7) == {"top_k": 3, "seed": 7}
        assert written("--system", file, "--sample") == {"top_k": 3}
        line = one_error(dragoman("translate", "--system", file, "--beam", 2), 2)
        assert "--beam: this system samples; leave it out" in line
        file.write_text(f"models: [{trained}]\nsearch: {{beam: 3}}\n", encoding="utf-8")
        assert "needs --sample" in one_error(
            dragoman("translate", "--system", file, "--seed", 7), 2
        )

    def test_sampling_of_a_model_can_be_changed(
        self, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        model = save_tiny_model(tmp_path / "drawing", sampling={"top_k": 1})

        def drawn(*options: object) -> str:
            outcome = dragoman("translate", model, *options, stdin=b"a b\nc\n")
            assert outcome.code == 0, outcome.err
            return outcome.out

        assert drawn("--seed", 9) == drawn() == drawn("--sample", "--seed", 4)
        assert drawn("--top-k", 9) != drawn()
        line = one_error(dragoman("translate", model, "--beam", 2), 2)
        assert "--beam: this system samples; leave it out" in line

    def test_a_file_is_told_what_is_wrong_with_it(
        self, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        file = tmp_path / "system.yaml"
        file.write_text("model: a\nsearch: 3\n", encoding="utf-8")
        line = one_error(dragoman("translate", "--system", file, "--beam", 2), 2)
        assert f"{file}: 2 problems" in line
        assert "unknown key 'model'; did you mean 'models'" in line
        assert "search: Input should be a section of keys" in line

    def test_a_file_is_named_whose_search_is_wrong(
        self, trained: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        file = tmp_path / "system.yaml"
        file.write_text(f"models: [{trained}]\nsearch: {{beem: 3}}\n", encoding="utf-8")
        line = one_error(dragoman("translate", "--system", file), 2)
        assert f"{file}: search: unknown key 'beem'; did you mean 'beam'" in line


@pytest.fixture(scope="module")
def legs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and two of another vocabulary that can translate what comes out of it."""
    folder = tmp_path_factory.mktemp("models")
    save_tiny_model(folder / "into", seed=4, tags=("<ui>",))
    save_tiny_model(folder / "onward", ["a b c", "d c", "e b d"] * 9, seed=7)
    save_tiny_model(folder / "other", ["a b c", "d c", "e b d"] * 9, seed=8)
    return folder


class TestPivot:
    def test_two_models_with_options_of_their_own(
        self, legs: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        file = tmp_path / "system.yaml"
        path = (legs / "into", legs / "into", "--via", "target", "--then", legs / "onward")
        options = ("--weight", 1, "--weight", 2, "--then", legs / "other", "--beam", 3)
        tags = ("--tag", "<ui>", "--via-nbest", 2, "--prefix", "a", "--write-system", file)
        found = dragoman("translate", *path, *options, *tags, stdin=b"a b\nc\n")
        assert found.code == 0, found.err
        system = read_system(file)
        assert system.pivot is not None
        assert [path.name for path in system.pivot.models or ()] == ["into", "into"]
        assert (system.pivot.weights, system.pivot.tags) == ((1, 2), ("<ui>",))
        assert (system.pivot.language, system.pivot.nbest) == ("target", 2)
        assert [path.name for path in system.models] == ["onward", "other"]
        assert (system.weights, system.tags, system.prefix) == (None, (), "a")
        assert system.search == {"beam": 3}
        again = dragoman("translate", "--system", file, stdin=b"a b\nc\n")
        assert again.out == found.out

    def test_the_text_in_between_is_in_json_alone(self, legs: Path, dragoman: CommandLine) -> None:
        path = (legs / "into", "--via", "target", "--then", legs / "onward", "--nbest", 2)
        found = dragoman("translate", *path, "--json", stdin=b"a b c\n")
        values = json.loads(found.out)
        assert values["source"] == "a b c"
        (pivots,) = load(legs / "into", device="cpu").translate_nbest(["a b c"], nbest=4)
        assert values["pivot"] in [one.text for one in pivots]
        assert "pivot" in values["alternatives"][0]
        assert len(dragoman("translate", *path, stdin=b"a\n").out.splitlines()) == 2
        plain = dragoman("translate", legs / "into", "--json", stdin=b"a\n")
        assert "pivot" not in json.loads(plain.out)

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (("--via", "target"), "name the models of either leg (--then names those of the"),
            (("--then", "onward"), "--then needs the language in between; name it with --via"),
            (("--via-nbest", 2), "--via-nbest needs the language in between"),
            (("--via", "target", "--then-tag", "<ui>"), "--then-tag needs models of their own"),
            (("--via", "target", "--then", "onward", "--then-tag", "<x>"), "has no tag <x>"),
            (("--via", "target", "--then", "onward", "--sample"), "sampling: through a pivot"),
            (("--via", "fr", "--to", "fr"), "pivot.language fr is the target language itself"),
        ],
    )
    def test_options_that_make_no_path(
        self, options: tuple[object, ...], problem: str, legs: Path, dragoman: CommandLine
    ) -> None:
        given = [legs / "onward" if one == "onward" else one for one in options]
        line = one_error(dragoman("translate", legs / "into", *given, stdin=b"a\n"), 2)
        assert problem in line

    def test_the_second_model_comes_with_the_first(
        self, legs: Path, dragoman: CommandLine, tmp_path: Path
    ) -> None:
        file = tmp_path / "system.yaml"
        file.write_text(f"models: [{legs / 'into'}]\n", encoding="utf-8")
        options = ("--system", file, "--via", "target", "--then", legs / "onward")
        assert "--then names models, as --system FILE does" in one_error(
            dragoman("translate", *options), 2
        )


class TestTerms:
    def test_terms_are_demanded_and_described(
        self,
        legs: Path,
        dragoman: CommandLine,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        (tmp_path / "terms.tsv").write_text("a\td c|e e\nb\tb\tdo-not-translate\n")
        (tmp_path / "names.txt").write_text("e d\n")
        file = tmp_path / "system.yaml"
        given = ("--glossary", tmp_path / "terms.tsv", "--keep", tmp_path / "names.txt")
        options = ("--protect", "numbers, tags", "--keep-pattern", "c c", "--write-system", file)
        stdin = b"a\n<ui> b e d\nc c 5\n"
        found = dragoman("translate", legs / "into", *given, *options, "--json", stdin=stdin)
        assert found.code == 0, found.err
        lines = [json.loads(line) for line in found.out.splitlines()]
        assert [line["missing"] for line in lines] == [[], [], ["5"]]
        assert "d c" in lines[0]["translation"] or "e e" in lines[0]["translation"]
        assert "c c" in lines[2]["translation"]
        assert "line 3: the translation lacks '5' (the target vocabulary lacks" in caplog.text
        terms = read_system(file).terms
        assert terms is not None
        assert (terms.protect, terms.keep_patterns) == (("numbers", "tags"), ("c c",))
        again = dragoman("translate", "--system", file, "--json", stdin=stdin)
        assert again.out == found.out

    @pytest.mark.parametrize(
        ("options", "code", "problem"),
        [
            (("--glossary", "none.tsv"), 3, "none.tsv: no such file"),
            (("--protect", "all"), 2, "'placeholders', 'tags', 'urls' or 'numbers', found 'all'"),
            (("--keep-pattern", "a("), 2, "keep pattern 'a(': missing )"),
            (("--protect", "tags", "--sample"), 2, "terms are searched for, not drawn"),
        ],
    )
    def test_what_cannot_be_is_refused(
        self,
        legs: Path,
        dragoman: CommandLine,
        options: tuple[str, ...],
        code: int,
        problem: str,
    ) -> None:
        found = dragoman("translate", legs / "into", *options, stdin=b"a\n")
        assert problem in one_error(found, code)


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
