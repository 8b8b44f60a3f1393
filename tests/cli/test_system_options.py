"""What translates, described by options or in a file: ensembles, pivots, terms."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from command_line import LINES, CommandLine, one_error
from tiny_model import save_tiny_classifier, save_tiny_model

from dragoman import load
from dragoman.models.families.transformer_lm import TransformerLMConfig
from dragoman.saved.model import build_model, read_config, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system import read_system
from dragoman.saved.weights import weights_of
from dragoman.text.vocabularies import Vocabularies


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

    def test_the_second_model_and_those_of_routes_may_be_installed_ones(
        self,
        legs: Path,
        dragoman: CommandLine,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("DRAGOMAN_MODELS", str(legs))
        monkeypatch.chdir(tmp_path)
        save_tiny_classifier(legs / "languages", ["de", "fr"])
        for options in (
            ("--via", "target", "--then", "onward"),
            ("--from", "auto", "--identify", "languages", "--route", "fr=other"),
        ):
            found = dragoman("translate", "into", *options, stdin=b"a b\n")
            assert found.code == 0, found.err

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
        stdin = b"a\n<ui> b e d\nc c 55\n"
        found = dragoman("translate", legs / "into", *given, *options, "--json", stdin=stdin)
        assert found.code == 0, found.err
        lines = [json.loads(line) for line in found.out.splitlines()]
        assert [line["missing"] for line in lines] == [[], [], ["55"]]
        assert "d c" in lines[0]["translation"] or "e e" in lines[0]["translation"]
        assert "c c" in lines[2]["translation"]
        assert "line 3: the translation lacks '55' (the target vocabulary lacks" in caplog.text
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
