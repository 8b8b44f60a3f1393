from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import click
import pytest
import sacrebleu
from command_line import CommandLine, one_error

from dragoman.cli.commands.evaluation import evaluate
from dragoman.cli.commands.tuning import tune
from dragoman.evaluation.metrics import EvaluationConfig
from dragoman.evaluation.significance import SignificanceConfig
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.workflows.reports.score_tables import system_names

REFERENCES = [f"der {n}te Hund sieht die Katze im Haus {n}" for n in range(40)]
GOOD = [line.replace("Haus", "Hause") for line in REFERENCES]
BAD = [line.replace("Hund sieht", "Mann sah") for line in GOOD]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    paths = {}
    for name, lines in {"reference": REFERENCES, "good": GOOD, "bad": BAD}.items():
        paths[name] = tmp_path / name
        paths[name].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def choices_of(command: click.Command) -> dict[str | None, tuple[str, ...]]:
    return {
        option.name: tuple(option.type.choices)
        for option in command.params
        if isinstance(option.type, click.Choice)
    }


def test_choices_are_those_of_the_library() -> None:
    tokenizers = get_args(EvaluationConfig.model_fields["bleu_tokenize"].annotation)
    tests = get_args(SignificanceConfig.model_fields["test"].annotation)
    choices = {name: choices_of(evaluate)[name] for name in ("tokenize", "test")}
    assert choices == {"tokenize": tokenizers, "test": tests}
    assert choices_of(tune)["tokenize"] == tokenizers


def test_scores_are_sacrebleus(files: dict[str, Path], dragoman: CommandLine) -> None:
    outcome = dragoman("evaluate", files["good"], files["reference"], "--json")
    found = json.loads(outcome.out)
    bleu, chrf = found["scores"]
    assert bleu["value"] == pytest.approx(sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score)
    assert chrf["value"] == pytest.approx(sacrebleu.corpus_chrf(GOOD, [REFERENCES]).score)
    assert "tok:13a" in bleu["signature"]
    assert found["exact_match"] == 0
    text = dragoman("evaluate", files["good"], files["reference"]).out
    assert f"BLEU = {bleu['value']:.2f} [{bleu['signature']}]" in text


@pytest.mark.parametrize("metrics", [("bleu",), ("chrf", "ter", "bleu")])
def test_json_of_sacrebleu_is_what_sacrebleu_prints(
    files: dict[str, Path], dragoman: CommandLine, metrics: tuple[str, ...]
) -> None:
    named = [word for metric in metrics for word in ("--metric", metric)]
    good, reference = files["good"], files["reference"]
    options = ("--confidence", "20", "--sacrebleu-json")
    found = dragoman("evaluate", good, reference, *named, *options).out
    theirs = ["--confidence", "--confidence-n", "20", "--format", "json", "--metrics", *metrics]
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", reference, "--input", good, *theirs],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(found) == json.loads(done.stdout)
    error = one_error(dragoman("evaluate", good, reference, "--sacrebleu-json", "--json"), 2)
    assert "--sacrebleu-json prints scores alone" in error


def test_a_tokenizer_that_finds_no_words_is_told(
    tmp_path: Path,
    dragoman: CommandLine,
    files: dict[str, Path],
    caplog: pytest.LogCaptureFixture,
) -> None:
    chinese = tmp_path / "zh"
    chinese.write_text("今天天气非常好我们去公园\n", encoding="utf-8")
    dragoman("evaluate", chinese, chinese)
    assert "BLEU with --tokenize 13a finds hardly any words in Han script" in caplog.text
    assert "; set --tokenize zh" in caplog.text
    caplog.clear()
    dragoman("evaluate", chinese, chinese, "--tokenize", "zh")
    dragoman("evaluate", chinese, chinese, "--metric", "chrf")
    dragoman("evaluate", files["good"], files["reference"])
    assert not caplog.text


def test_options_reach_the_metric(files: dict[str, Path], dragoman: CommandLine) -> None:
    outcome = dragoman(
        "evaluate",
        files["good"],
        files["reference"],
        files["reference"],
        *("--metric", "bleu", "--tokenize", "none", "--lowercase", "--confidence", "20", "--json"),
    )
    (score,) = json.loads(outcome.out)["scores"]
    for part in ("nrefs:2", "case:lc", "tok:none", "bs:20"):
        assert part in score["signature"]
    assert score["confidence"]["margin"] >= 0


def test_hypotheses_from_standard_input(files: dict[str, Path], dragoman: CommandLine) -> None:
    piped = dragoman("evaluate", "-", files["reference"], stdin=files["good"].read_bytes())
    assert piped.out == dragoman("evaluate", files["good"], files["reference"]).out


def test_a_clear_difference_is_more_than_chance(
    files: dict[str, Path], dragoman: CommandLine
) -> None:
    options = ("--baseline", files["bad"], "--metric", "chrf")
    outcome = dragoman("evaluate", files["good"], files["reference"], *options)
    assert "more than chance" in outcome.out
    assert "no more" not in outcome.out
    alone = dragoman("evaluate", files["good"], files["reference"], "--test", "bootstrap")
    assert "--test is of the difference to a --baseline; name one" in one_error(alone, 2)
    same = dragoman("evaluate", files["bad"], files["reference"], *options, "--json")
    (comparison,) = json.loads(same.out)["comparisons"]
    assert comparison["difference"] == 0
    assert comparison["p_value"] == 1


class TestByLength:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        """Four words in the first 30 lines, seven in the last 10."""
        path = tmp_path / "source"
        lines = [f"the dog sees {n}" + " in the house" * (n >= 30) for n in range(40)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def test_a_table_of_several_systems(
        self, files: dict[str, Path], source: Path, dragoman: CommandLine
    ) -> None:
        arguments = ["evaluate", files["good"], files["reference"], "--by-length", source]
        outcome = dragoman(*arguments, "--beside", files["bad"], "--bounds", "5,6,50")
        assert "| words in the source | sentences | good | bad |" in outcome.out
        expected = [sacrebleu.corpus_bleu(x[:30], [REFERENCES[:30]]).score for x in (GOOD, BAD)]
        assert f"| 4 | 30 | {expected[0]:.1f} | {expected[1]:.1f} |" in outcome.out
        assert "\n| 7 | 10 | " in outcome.out
        found = json.loads(dragoman(*arguments, "--metric", "chrf", "--json").out)["by_length"]
        assert [row["sentences"] for row in found["rows"]] == [30, 10]
        assert found["rows"][0]["scores"]["good"]["name"] == "chrF2"

    def test_the_first_metric_may_read_the_source(
        self, files: dict[str, Path], source: Path, dragoman: CommandLine
    ) -> None:
        arguments = ["evaluate", files["good"], files["reference"], "--source", source]
        outcome = dragoman(*arguments, "--metric", "numbers", "--by-length", source)
        assert outcome.code == 0, outcome.err
        assert "| 4 | 30 | 100.0 |" in outcome.out

    def test_lengths_in_pieces_of_a_model(
        self, files: dict[str, Path], source: Path, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        lines = source.read_text(encoding="utf-8").splitlines()
        pairs = list(zip(lines, REFERENCES, strict=True))
        vocabularies = train_vocabularies(pairs, VocabularyConfig(size=60), seed=1)
        vocabularies.save(tmp_path / "model")
        lengths = [len(vocabularies.source.encode(line)) for line in lines]
        arguments = ["evaluate", files["good"], files["reference"], "--by-length", source, "--json"]
        found = json.loads(dragoman(*arguments, "--pieces", tmp_path / "model").out)["by_length"]
        assert found["unit"] == "pieces"
        assert found["rows"][0]["shortest"] == min(lengths) > 4
        assert found["rows"][-1]["longest"] == max(lengths)
        assert "no vocabulary" in one_error(dragoman(*arguments, "--pieces", tmp_path), 4)

    def test_a_picture(
        self, files: dict[str, Path], source: Path, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        pytest.importorskip("matplotlib")
        arguments = ["evaluate", files["good"], files["reference"], "--by-length", source]
        for options in ([], ["--beside", files["bad"], "--confidence", 20]):
            picture = tmp_path / f"{len(options)}.svg"
            assert dragoman(*arguments, *options, "--picture", picture).code == 0
            assert picture.read_text(encoding="utf-8").startswith("<svg")

    def test_a_score_of_nothing_has_no_interval_and_is_drawn(
        self, files: dict[str, Path], tmp_path: Path, dragoman: CommandLine
    ) -> None:
        """The output is right for sources of two and three words, and never for those of one."""
        pytest.importorskip("matplotlib")
        source, output = tmp_path / "source", tmp_path / "output"
        lengths = [1 + number % 3 for number in range(len(REFERENCES))]
        source.write_text("".join("a " * length + "\n" for length in lengths), encoding="utf-8")
        pairs = zip(lengths, REFERENCES, strict=True)
        output.write_text("".join(f"{'x' if n == 1 else right}\n" for n, right in pairs), "utf-8")
        options = ("--metric", "exact_match", "--confidence", 20, "--by-length", source)
        picture = tmp_path / "lengths.svg"
        outcome = dragoman("evaluate", output, files["reference"], *options, "--picture", picture)
        assert outcome.code == 0, outcome.err
        assert picture.read_text(encoding="utf-8").startswith("<svg")
        assert "exact_match, 95% intervals" in outcome.out

    def test_systems_of_one_name_are_told_apart_by_their_paths(self) -> None:
        files = [Path("a/x.test"), Path("b/x.test")]
        assert system_names(files) == ["a/x.test", "b/x.test"]
        assert system_names([Path("a/x.test"), Path("a/y.test")]) == ["x", "y"]

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (["--bounds", "3"], "need --by-length"),
            (["--by-length", "s", "--bounds", "8,3"], "not increase"),
            (["--by-length", "s", "--bounds", "x"], "not a list of whole numbers"),
            (["--by-length", "s", "--picture", "s.png"], "name it FILE.svg"),
        ],
    )
    def test_mistakes(
        self, options: list[str], problem: str, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        """Told before anything is read: it may come from a translation of hours."""
        outcome = dragoman("evaluate", tmp_path / "none", tmp_path / "none", *options)
        assert problem in one_error(outcome, 2)

    def test_a_picture_without_matplotlib(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dragoman: CommandLine
    ) -> None:
        monkeypatch.delitem(sys.modules, "dragoman.workflows.reports.plots", raising=False)
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        arguments = ["evaluate", tmp_path / "none", tmp_path / "none", "--by-length", "s"]
        line = one_error(dragoman(*arguments, "--picture", tmp_path / "x.svg"), 7)
        assert "matplotlib" in line


def test_unequal_lengths(files: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_text("eins\n", encoding="utf-8")
    line = one_error(dragoman("evaluate", short, files["reference"]), 3)
    assert "1" in line
    assert "40" in line


def test_missing_file(files: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    line = one_error(dragoman("evaluate", tmp_path / "none", files["reference"]), 3)
    assert "none" in line


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--metric", "chrf", "--tokenize", "13a"], "--tokenize is read by --metric bleu"),
        (["--metric", "ter", "--lowercase"], "--lowercase is read by --metric bleu and chrf"),
    ],
)
def test_how_text_is_compared_is_refused_where_no_metric_reads_it(
    options: list[str], problem: str, files: dict[str, Path], dragoman: CommandLine
) -> None:
    assert problem in one_error(dragoman("evaluate", files["good"], files["good"], *options), 2)


@pytest.mark.parametrize(
    "option",
    [
        *(["--baseline", "x"], ["--by-length", "x"], ["--picture", "x.svg"], ["--confidence", "9"]),
        *(["--metric", "bleu"], ["--language", "de"], ["--glossary", "x"], ["--lowercase"]),
        *(["--tokenize", "13a"], ["--source", "x"]),
    ],
)
def test_evalb_refuses_what_it_would_ignore(
    option: list[str], tmp_path: Path, dragoman: CommandLine
) -> None:
    trees = tmp_path / "trees"
    trees.write_text("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))\n", encoding="utf-8")
    line = one_error(dragoman("evaluate", trees, trees, "--evalb", *option), 2)
    assert f"{option[0]}: --evalb prints the table of EVALB" in line
    assert dragoman("evaluate", trees, trees, "--evalb", "--json", "-q").code == 0


def test_a_rate_of_nothing_is_warned_about(
    files: dict[str, Path],
    tmp_path: Path,
    dragoman: CommandLine,
    caplog: pytest.LogCaptureFixture,
) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("cat\tKatze\n", encoding="utf-8")
    evaluate = ("evaluate", files["good"], files["reference"], "--glossary", glossary)
    outcome = dragoman(*evaluate, "--source", files["reference"], "--metric", "numbers")
    assert "terms = 100.00" in outcome.out
    assert caplog.messages == ["--source has no terms, so their rate of 100% says nothing"]
    caplog.clear()
    glossary.write_text("Katze\tKatze\n", encoding="utf-8")
    assert "terms = " in dragoman(*evaluate, "--source", files["reference"]).out
    assert not caplog.messages


def test_the_rate_of_lines_in_another_language(
    files: dict[str, Path], dragoman: CommandLine
) -> None:
    pytest.importorskip("py3langid", exc_type=ImportError)
    english = "The old dog is looking at the cat in the garden."
    text = "\n".join([*GOOD[:30], *[english] * 10]) + "\n"
    files["good"].write_text(text, encoding="utf-8")
    evaluate = ("evaluate", files["good"], files["reference"])
    told = ("--language", "de", "--among", "en, fr")
    found = json.loads(dragoman(*evaluate, *told, "--json").out)["scores"]
    assert [score["name"] for score in found] == ["BLEU", "chrF2", "wrong language"]
    assert found[2]["value"] == 25
    assert "among:de+en+fr" in found[2]["signature"]
    only = dragoman(*evaluate, "--metric", "wrong_language", *told, "--confidence", "50")
    assert only.out.startswith("wrong language = 25.00 (μ = ")
    assert "among:all" in dragoman(*evaluate, "--language", "de").out
    assert "tlh" in one_error(dragoman(*evaluate, "--language", "tlh"), 2)
    assert "names nothing" in dragoman(*evaluate, "--language", "de", "--among", ",").err
    for option in (("--metric", "wrong_language"), ("--among", "de")):
        line = one_error(dragoman(*evaluate, *option), 2)
        assert "needs --language, the one that HYPOTHESES should be in; add it" in line
