"""``dragoman backtranslate``: from text to models, resumable wherever it was interrupted."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine, call, one_error, write_experiment
from forked import forked_program

from dragoman.core.claims import claimed
from dragoman.core.errors import InterruptedRunError, StorageError
from dragoman.recipe import read_experiment
from dragoman.run.run_directory import is_run
from dragoman.saved.weights import weights_digest
from dragoman.techniques.backtranslation import rounds
from dragoman.techniques.backtranslation.directory import opened, record
from dragoman.techniques.backtranslation.monolingual import prepare_texts, source_lines
from dragoman.techniques.backtranslation.rounds import BackTranslation, carry_out
from dragoman.text.corpora.corpus import read_pairs
from dragoman.text.transforms.filtering import FilterConfig
from dragoman.translation import synthesis
from dragoman.workflows.runs import CommandLineHost

QUICK = ["evaluation.metrics=[chrf]", "training.max_steps=4"]
OPTIONS = {"method": "top-k", "top_k": 5, "ratio": 0.2, "tag": True}
SHARD = 10


@pytest.fixture(scope="module")
def mono(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """German lines that are in no other text, some of them unfit."""
    rows = [line.split("\t") for line in (text / "train.tsv").read_text("utf-8").splitlines()]
    german = rows[0].index("de")
    lines = [
        f"{one[german]} {two[german]}" for one, two in zip(rows[1:91], rows[101:], strict=False)
    ]
    path = tmp_path_factory.mktemp("mono") / "mono.de"
    path.write_text("\n".join([*lines, "", lines[0]]) + "\n", encoding="utf-8")
    return path


def work(directory: Path, config: Path, mono: Path) -> BackTranslation:
    given = {**OPTIONS, "monolingual": mono}
    with opened(directory, read_experiment(config, QUICK), given) as plan:
        return carry_out(plan, CommandLineHost(), shard_lines=SHARD)


@pytest.fixture(scope="module")
def finished(config: Path, mono: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One round, finished."""
    directory = tmp_path_factory.mktemp("backtranslation") / "work"
    work(directory, config, mono)
    return directory


def rows_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


class TestOneRound:
    def test_every_synthetic_pair_knows_its_origin(self, finished: Path, mono: Path) -> None:
        rows = rows_of(finished / "round-1/synthetic/pairs.jsonl.gz")
        lines = mono.read_text(encoding="utf-8").splitlines()
        digest = weights_digest(finished / "round-1/reverse/model")
        assert 10 < len(rows) <= 60
        for row in rows:
            assert row["target"] == lines[row["line"] - 1]
            assert digest.startswith(row["model"])
            assert row["method"] == "sampling, top-k 5, seed 3"
            assert row["score"] < 0
        assert len({row["line"] for row in rows}) == len(rows)

    def test_only_what_is_needed_is_translated(self, finished: Path) -> None:
        real = json.loads((finished / "text/real.json").read_text("utf-8"))["pairs"]
        text = json.loads((finished / "text/target.json").read_text("utf-8"))
        assert text["chosen"] == int(0.2 * real) < text["fit"] == 90
        origin = json.loads(
            (finished / "round-1/synthetic/translated/origin.json").read_text("utf-8")
        )
        assert origin["input"]["lines"] == text["chosen"]

    def test_models_learn_from_what_they_should(self, finished: Path) -> None:
        reverse = read_experiment(finished / "round-1/reverse/config.yaml")
        forward = read_experiment(finished / "round-1/forward/config.yaml")
        recipe = read_experiment(finished / "recipe.yaml")
        assert [part.direction.name for part in reverse.train_parts()] == ["de-en"]
        assert [part.direction.name for part in forward.train_parts()] == ["en-de", "en-de"]
        assert forward.data.train[1].path == str(finished / "round-1/synthetic/pairs.jsonl.gz")
        assert forward.data.train[0] == recipe.data.train[0]
        assert list(forward.data.train[1].symbols()) == ["<BT>"]
        assert forward.training == recipe.training

    def test_repeating_it_changes_nothing_and_prints_all(
        self, finished: Path, mono: Path, config: Path, dragoman: CommandLine
    ) -> None:
        before = {path: path.stat().st_mtime_ns for path in finished.rglob("*.safetensors")}
        again = dragoman("backtranslate", finished, "--json")
        assert again.code == 0, again.err
        found = json.loads(again.out)
        assert found["directory"] == str(finished)
        assert found["settings"]["method"] == "top-k"
        assert found["real_pairs"] > 200
        (one,) = found["rounds"]
        assert one["scores"] == {
            name: report
            for name, report in json.loads(
                (finished / "round-1/forward/scores.json").read_text("utf-8")
            ).items()
            if name not in {"checkpoints", "card"}
        }
        assert one["synthetic"]["kept"] == len(
            rows_of(finished / "round-1/synthetic/pairs.jsonl.gz")
        )
        settings = [word for setting in QUICK for word in ("--set", setting)]
        same = dragoman(
            "backtranslate",
            config,
            *("--monolingual", mono, "--tag", "--run", finished),
            *("--baseline", finished / "round-1/forward"),
            *settings,
        )
        assert same.code == 0, same.err
        assert "real pairs alone  round 1" in same.out
        chrf = one["scores"]["news"]["chrf"]["value"]
        (line,) = [line for line in same.out.splitlines() if line.startswith("news  chrf")]
        assert line.split() == ["news", "chrf", f"{chrf:.2f}", f"{chrf:.2f}"]
        assert before == {path: path.stat().st_mtime_ns for path in finished.rglob("*.safetensors")}

    def test_the_directory_translates_with_the_last_model(
        self, finished: Path, dragoman: CommandLine
    ) -> None:
        assert not is_run(finished)
        source = b"seven euros\n"
        expected = dragoman("translate", finished / "round-1/forward", stdin=source)
        assert dragoman("translate", finished, stdin=source).out == expected.out
        assert (finished / "model").readlink() == Path("round-1/forward/model")

    def test_a_baseline_has_the_direction_of_the_recipe(
        self, finished: Path, dragoman: CommandLine
    ) -> None:
        reverse = finished / "round-1/reverse"
        refused = one_error(dragoman("backtranslate", finished, "--baseline", reverse), 2)
        assert "is de-en there, and the recipe is en-de; name a run of the recipe itself" in refused


class TestMoreRounds:
    def test_go_on_from_the_last(
        self, finished: Path, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        """Without text in the source language, the sources of real pairs are translated."""
        directory = tmp_path / "work"
        shutil.copytree(finished, directory, symlinks=True)
        outcome = dragoman("backtranslate", directory, "--rounds", 2, "--json")
        assert outcome.code == 0, outcome.err
        _, second = json.loads(outcome.out)["rounds"]
        reverse = read_experiment(directory / "round-2/reverse/config.yaml")
        pairs = directory / "round-2/reverse-synthetic/pairs.jsonl.gz"
        assert reverse.data.train[1].path == str(pairs)
        assert [part.direction.name for part in reverse.train_parts()] == ["de-en", "de-en"]
        forward = weights_digest(directory / "round-1/forward/model")
        assert all(forward.startswith(row["model"]) for row in rows_of(pairs))
        assert second["reverse_synthetic"]["kept"] == len(rows_of(pairs))
        rows = rows_of(directory / "round-2/synthetic/pairs.jsonl.gz")
        newest = weights_digest(directory / "round-2/reverse/model")
        assert all(newest.startswith(row["model"]) for row in rows)
        assert (directory / "model").readlink() == Path("round-2/forward/model")
        line = one_error(dragoman("backtranslate", directory, "--rounds", 1), 2)
        assert "began with rounds 2, not 1" in line

    def test_read_text_in_the_source_language(
        self, finished: Path, mono: Path, config: Path, tmp_path: Path
    ) -> None:
        """It may come later, as long as no round has read any."""
        english = tmp_path / "mono.en"
        english.write_text("one two three\nfour\n", encoding="utf-8")
        directory = tmp_path / "work"
        shutil.copytree(finished, directory, symlinks=True)
        with opened(directory, None, {"rounds": 2, "monolingual_source": english}) as plan:
            prepare_texts(plan, CommandLineHost())
            assert [line.text for line in source_lines(plan)] == ["one two three", "four"]
        other = tmp_path / "other.en"  # the first call was stopped before anything was recorded
        other.write_text("five\n", encoding="utf-8")
        with opened(directory, None, {"rounds": 2, "monolingual_source": other}) as plan:
            prepare_texts(plan, CommandLineHost())
            assert [line.text for line in source_lines(plan)] == ["five"]
            record(plan)
        other.unlink()
        with opened(directory, None, {}) as plan:
            prepare_texts(plan, CommandLineHost())
            assert [line.text for line in source_lines(plan)] == ["five"]

    def test_without_it_read_the_sources_of_real_pairs(
        self, mono: Path, config: Path, tmp_path: Path
    ) -> None:
        recipe = read_experiment(config, QUICK)
        given = {"rounds": 2, "monolingual": mono, "ratio": 9}
        with opened(tmp_path / "work", recipe, given) as plan:
            prepare_texts(plan, CommandLineHost())
            pairs = [pair for part in recipe.train_parts() for pair in read_pairs(part)]
            sources = {line.number: line.text for line in source_lines(plan)}
            assert len(sources) > 200
            assert all(pairs[number - 1].source == text for number, text in sources.items())

    def test_sources_of_real_pairs_that_a_filter_drops_are_not_read(
        self, mono: Path, config: Path, tmp_path: Path
    ) -> None:
        """They would give the model text that the recipe withholds from it."""
        recipe = read_experiment(config, QUICK)
        part = recipe.data.train[0]
        some = part.model_copy(update={"transforms": (FilterConfig(last_line=8),)})
        data = recipe.data.model_copy(update={"train": (some,)})
        recipe = recipe.model_copy(update={"data": data})
        given = {"rounds": 2, "monolingual": mono, "ratio": 9}
        with opened(tmp_path / "work", recipe, given) as plan:
            assert prepare_texts(plan, CommandLineHost()) <= 8
            first = [pair.source for pair in islice(read_pairs(part), 8)]
            assert {line.text for line in source_lines(plan)} <= set(first)


class TestInterrupted:
    def test_a_killed_process_loses_and_doubles_no_line(
        self, finished: Path, config: Path, mono: Path, tmp_path: Path
    ) -> None:
        """A real SIGKILL in the third shard, after which the same call goes on."""
        directory = tmp_path / "killed"
        script = tmp_path / "script.py"
        script.write_text(
            "import sys; from pathlib import Path; from test_backtranslate import *\n"
            "die_in_shard(3); work(*map(Path, sys.argv[1:]))"
        )
        folder = Path(__file__).parent
        paths = [folder, folder.parents[1]]
        process = forked_program(script, directory, config, mono, paths=paths)
        process.join()
        assert process.exitcode == -signal.SIGKILL
        shards = directory / "round-1/synthetic/translated/shards"
        assert len(list(shards.glob("*.json"))) == 2
        assert not (directory / "round-1/forward").exists()
        work(directory, config, mono)
        pairs = "round-1/synthetic/pairs.jsonl.gz"
        assert (directory / pairs).read_bytes() == (finished / pairs).read_bytes()
        model = "round-1/forward/model"
        assert weights_digest(directory / model) == weights_digest(finished / model)

    def test_a_full_disk_loses_nothing(
        self, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        directory = tmp_path / "work"
        shutil.copytree(finished, directory, symlinks=True)
        before = (directory / "round-1/synthetic/pairs.jsonl.gz").read_bytes()
        (directory / "round-1/synthetic/pairs.json").unlink()

        def refuse(path: Path) -> None:
            raise StorageError(f"cannot write {path}: the disk is full")

        with opened(directory, None, {}) as plan:
            with monkeypatch.context() as patch, pytest.raises(StorageError, match="disk is full"):
                patch.setattr(rounds, "write_text", refuse)
                carry_out(plan, CommandLineHost(), shard_lines=SHARD)
            with monkeypatch.context() as patch:  # only the filters are repeated
                patch.setattr(CommandLineHost, "train", None)
                patch.setattr(synthesis, "_translate_shard", None)
                carry_out(plan, CommandLineHost(), shard_lines=SHARD)
        assert (directory / "round-1/synthetic/pairs.jsonl.gz").read_bytes() == before

    def test_a_signal_says_how_to_go_on(
        self, config: Path, mono: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stop(*_: object) -> None:
            raise InterruptedRunError("stopped at step 3", signal.SIGTERM)

        monkeypatch.setattr(CommandLineHost, "train", stop)
        arguments = ["backtranslate", config, "--monolingual", mono, "--run", tmp_path / "work"]
        line = one_error(call(*arguments), 143)
        assert "round-1/reverse: stopped; everything is saved; repeat the command" in line

    def test_ctrl_c_while_translating_says_how_to_go_on(
        self, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        directory = tmp_path / "work"
        shutil.copytree(finished, directory, symlinks=True)
        (directory / "round-1/synthetic/pairs.json").unlink()

        def stop(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(rounds, "translate_corpus", stop)
        line = one_error(call("backtranslate", directory), 130)
        assert f"{directory}: stopped; what is finished is saved; repeat the command" in line

    def test_one_process_at_a_time(self, finished: Path, dragoman: CommandLine) -> None:
        with claimed(finished / ".lock", "it"):
            line = one_error(dragoman("backtranslate", finished), 4)
        assert f"{finished}: process {os.getpid()} on" in line
        assert "is using it; wait until it ends" in line


def die_in_shard(number: int) -> None:
    """Let this process be killed when it begins to translate that shard."""
    real, begun = synthesis._translate_shard, 0

    def counted(*arguments: Any) -> None:
        nonlocal begun
        begun += 1
        if begun == number:
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments)

    synthesis._translate_shard = counted  # type: ignore[assignment]


class TestMistakes:
    @pytest.mark.parametrize(
        ("content", "code", "problem"),
        [
            (None, 3, "no such file; check the path"),
            (b"", 3, "mono.de: the file is empty"),
            (b"gut\n\xff kaputt\n", 3, "mono.de:2: not UTF-8 at byte 1 of the line (0xFF)"),
            (b"\n \n", 3, "mono.de: no line is fit for translation (dropped: empty 2)"),
        ],
    )
    def test_in_the_text_show_before_training_and_can_be_corrected(
        self,
        content: bytes | None,
        code: int,
        problem: str,
        config: Path,
        tmp_path: Path,
        dragoman: CommandLine,
    ) -> None:
        bad, directory = tmp_path / "mono.de", tmp_path / "work"
        if content is not None:
            bad.write_bytes(content)
        line = one_error(
            dragoman("backtranslate", config, "--monolingual", bad, "--run", directory), code
        )
        assert problem in line
        if directory.exists():
            assert all(path.name.startswith(".") for path in directory.iterdir())

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (["--method", "beam", "--top-k", 10], "began with method top-k, not beam"),
            (["--ratio", 3], "began with ratio 0.2, not 3.0"),
            (["--monolingual-source", __file__], "monolingual_source is read from the second"),
            (["--set", "seed=2"], "a directory to resume takes neither --run nor --set"),
            (["--run", "elsewhere"], "a directory to resume takes neither --run nor --set"),
        ],
    )
    def test_other_options_are_refused(
        self, options: list[object], problem: str, finished: Path, dragoman: CommandLine
    ) -> None:
        assert problem in one_error(dragoman("backtranslate", finished, *options), 2)

    def test_another_recipe_is_refused(
        self, finished: Path, config: Path, dragoman: CommandLine
    ) -> None:
        line = one_error(dragoman("backtranslate", config, "--run", finished), 2)
        assert "its recipe changed since the back-translation began" in line

    def test_files_of_somebody_else_are_not_touched(
        self, config: Path, mono: Path, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        (tmp_path / "thesis.md").write_text("precious", encoding="utf-8")
        line = one_error(
            dragoman("backtranslate", config, "--monolingual", mono, "--run", tmp_path), 2
        )
        assert "holds thesis.md and is no back-translation" in line
        assert [path.name for path in tmp_path.iterdir()] == ["thesis.md"]

    def test_a_text_is_needed(self, config: Path, tmp_path: Path, dragoman: CommandLine) -> None:
        line = one_error(dragoman("backtranslate", config, "--run", tmp_path / "work"), 2)
        assert "name the text to translate back with --monolingual FILE" in line
        line = one_error(dragoman("backtranslate", tmp_path), 2)
        assert "no back-translation here; give a configuration" in line

    def test_one_process_only(
        self, config: Path, monkeypatch: pytest.MonkeyPatch, dragoman: CommandLine
    ) -> None:
        monkeypatch.setenv("RANK", "0")
        assert "without torchrun" in one_error(dragoman("backtranslate", config), 2)


class TestReverse:
    def test_a_model_of_the_same_direction_is_refused(
        self, trained: Path, config: Path, mono: Path, tmp_path: Path, dragoman: CommandLine
    ) -> None:
        arguments = ["backtranslate", config, "--monolingual", mono, "--run", tmp_path / "work"]
        for reverse, problem in (
            (trained, "translates en-de; back-translation for en-de needs de-en"),
            (config, "its direction is en-de, and that of the recipe en-de"),
            (tmp_path / "missing", "missing: no such run, model or recipe"),
        ):
            assert problem in one_error(dragoman(*arguments, "--reverse", reverse), 2)

    def test_a_given_model_translates(
        self, finished: Path, config: Path, mono: Path, tmp_path: Path
    ) -> None:
        """No reverse model is trained; more rounds then need the recipe turned round."""
        reverse, directory = finished / "round-1/reverse", tmp_path / "work"
        recipe = read_experiment(config, QUICK)
        given = {"monolingual": mono, "reverse_model": reverse, "method": "greedy", "ratio": 0.1}
        with opened(directory, recipe, given) as plan:
            (one,) = carry_out(plan, CommandLineHost()).rounds
        assert one.reverse == reverse
        assert not (directory / "reverse-recipe.yaml").exists()
        digest = weights_digest(reverse / "model")
        rows = rows_of(directory / "round-1/synthetic/pairs.jsonl.gz")
        assert all(digest.startswith(row["model"]) and row["method"] == "greedy" for row in rows)
        with opened(directory, None, {"rounds": 2}) as plan:
            assert plan.reverse_recipe is not None
            assert plan.reverse(1) == reverse
            assert plan.reverse(2) == directory / "round-2/reverse"

    def test_a_recipe_of_its_own(
        self, finished: Path, config: Path, mono: Path, tmp_path: Path
    ) -> None:
        other = read_experiment(finished / "reverse-recipe.yaml")
        values = json.loads(other.model_dump_json())
        values["model"]["d_model"] = 8
        file = write_experiment(tmp_path, values)
        given = {"monolingual": mono, "reverse_recipe": file}
        with opened(tmp_path / "work", read_experiment(config, QUICK), given) as plan:
            assert plan.reverse_recipe is not None
            assert plan.reverse_recipe.model.d_model == 8
            (tmp_path / "work" / "text").mkdir()
            record(plan)
        with opened(tmp_path / "work", None, {}) as again:
            assert again == plan


@pytest.mark.parametrize(
    "search",
    [{"sampling": {"temperature": 2}}, {"mbr": {"samples": 5}}],
    ids=["sampling", "mbr"],
)
def test_a_recipe_that_samples_does_not_translate_text(
    search: dict[str, Any],
    finished: Path,
    config: Path,
    mono: Path,
    tmp_path: Path,
    dragoman: CommandLine,
) -> None:
    """It would, whatever --method says."""
    forward, reverse = tmp_path / "forward.yaml", tmp_path / "reverse.yaml"
    for path, base in ((forward, config), (reverse, finished / "reverse-recipe.yaml")):
        path.write_text(json.dumps({"base": str(base), "search": search}), encoding="utf-8")
    arguments = ["--monolingual", mono, "--run", tmp_path / "work"]
    line = one_error(dragoman("backtranslate", forward, *arguments, "--rounds", 2), 2)
    assert f"the recipe's search.{next(iter(search))} would draw translations" in line
    line = one_error(dragoman("backtranslate", config, *arguments, "--reverse", reverse), 2)
    assert f"the reverse recipe's search.{next(iter(search))} would draw translations" in line
    with opened(tmp_path / "one", read_experiment(forward), {"monolingual": mono}) as plan:
        assert plan.settings.rounds == 1, "then it translates no text"


def test_a_vocabulary_without_the_tag_shows_before_training(
    trained: Path, config: Path, mono: Path, tmp_path: Path, dragoman: CommandLine
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(f"base: {config}\nvocabulary: {{of: {trained}}}\n", encoding="utf-8")
    arguments = ["backtranslate", other, "--monolingual", mono, "--run", tmp_path / "work"]
    line = one_error(dragoman(*arguments, "--tag"), 2)
    assert f"{trained}: its vocabulary, which is kept, has no tag <BT>" in line
    with opened(tmp_path / "work", read_experiment(other), {"monolingual": mono}) as plan:
        assert plan.settings.tag is False
