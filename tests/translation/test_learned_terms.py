"""Glossaries in translation with models that learned to read annotated terms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from command_line import call, one_error
from tiny_model import LINES

from dragoman.core.config import parse
from dragoman.core.errors import ConfigError
from dragoman.models.families.transformer import TransformerConfig
from dragoman.saved.model import build_model, read_config, save_model
from dragoman.saved.saved_config import SavedConfig
from dragoman.saved.system import TranslationSystem, read_system, write_system
from dragoman.text.terms.term_annotation import AnnotationMethod, annotation_tags
from dragoman.text.vocabularies import VocabularyConfig
from dragoman.text.vocabularies.vocabulary_training import train_vocabularies
from dragoman.translation.translator import Translator

CONFIG = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, d_ff=8, heads=2)


def save(folder: Path, method: AnnotationMethod | None) -> Path:
    """A model that was trained with terms annotated by ``method``, as far as it says."""
    tags = annotation_tags(method or "append")
    vocabularies = train_vocabularies(
        zip(LINES, LINES, strict=True), VocabularyConfig(size=14 + len(tags), tags=tags), seed=1
    )
    torch.manual_seed(1)
    weights = dict(build_model(CONFIG, vocabularies).named_parameters())
    config = SavedConfig(model=CONFIG, search={"extra_length": 3}, term_annotation=method)
    save_model(folder, config, vocabularies, {n: t.detach() for n, t in weights.items()})
    return folder


@pytest.fixture(scope="module")
def append(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("append"), "append")


@pytest.fixture
def glossary(tmp_path: Path) -> Path:
    path = tmp_path / "terms.tsv"
    path.write_text("b\td|dd\nc d\te\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("method", ["append", "replace"])
def test_a_source_is_read_with_its_terms_annotated(
    method: AnnotationMethod, glossary: Path, tmp_path: Path
) -> None:
    model = save(tmp_path / "model", method)
    plain = Translator.load(model)
    learned = Translator.load(model, terms={"glossary": str(glossary), "mode": "learned"})
    as_is, by_hand = ["a  b c d e"], ["a <term> b <as> d </term> <term> c d <as> e </term> e"]
    if method == "replace":
        by_hand = ["a <term> d </term> <term> e </term> e"]
    found, wanted = learned.translate_nbest(as_is), plain.translate_nbest(by_hand)
    assert [one.log_probability for one in found[0]] == [one.log_probability for one in wanted[0]]
    assert learned.translate(as_is) == plain.translate(by_hand)
    (unannotated,) = plain.score(as_is, ["a"])
    (read,) = plain.score(by_hand, ["a"])
    assert unannotated.log_probability != read.log_probability
    assert learned.translate(["e", ""]) == plain.translate(["e", ""])
    assert learned.score(as_is, ["a"]) == [read]
    shown = learned.attention(as_is[0], "a")
    assert shown.source == plain.attention(by_hand[0], "a").source


def test_both_modes_together_annotate_and_constrain(append: Path, glossary: Path) -> None:
    lines = ["a b e", "c d", "e"]
    terms = {"glossary": str(glossary), "mode": "both"}
    both = Translator.load(append, terms=terms).translate_nbest(lines)
    assert all(found[0].missing == () for found in both)
    first, second, _ = (set(found[0].text.split()) for found in both)
    assert first & {"d", "dd"}
    assert "e" in second


@pytest.mark.parametrize("mode", ["hard", "learned", "both"])
def test_the_mode_is_chosen_on_the_command_line(
    mode: str, append: Path, glossary: Path, tmp_path: Path
) -> None:
    """Also over that of a description; each mode gives other scores than the others."""
    lines = ["a b e", "c d b"]
    best = {
        one: [
            found[0].log_probability
            for found in Translator.load(
                append, terms={"glossary": str(glossary), "mode": one}
            ).translate_nbest(lines)
        ]
        for one in ("hard", "learned", "both")
    }
    assert len({tuple(values) for values in best.values()}) == 3
    chosen = ("translate", append, "--glossary", glossary, "--glossary-mode", mode)
    description = tmp_path / "system.yaml"
    options = ("--json", "--device", "cpu", "--write-system", description)
    stdin = "\n".join(lines).encode()
    outcome = call(*chosen, *options, stdin=stdin)
    assert outcome.code == 0, outcome.err
    found = [json.loads(line)["log_probability"] for line in outcome.out.splitlines()]
    assert found == pytest.approx(best[mode], rel=1e-4)
    other = "both" if mode == "learned" else "learned"
    again = ("translate", "--system", description, "--glossary-mode", other, "--json")
    outcome = call(*again, stdin=stdin)
    found = [json.loads(line)["log_probability"] for line in outcome.out.splitlines()]
    assert found == pytest.approx(best[other], rel=1e-4)


def test_the_command_line_refuses_a_model_that_did_not_learn_it(
    glossary: Path, tmp_path: Path
) -> None:
    plain = save(tmp_path / "plain", None)
    arguments = ("translate", plain, "--glossary", glossary, "--glossary-mode", "learned")
    assert "plain was not trained with annotated terms" in one_error(call(*arguments), 2)


def test_a_model_says_in_its_files_how_it_was_trained(append: Path, tmp_path: Path) -> None:
    assert read_config(append / "config.yaml").term_annotation == "append"
    run = tmp_path / "config.yaml"
    part = "{source: a, target: b, transforms: [{kind: terms, glossary: g.tsv, method: replace}]}"
    run.write_text(f"model: {{family: transformer}}\ndata: {{train: [{part}]}}\n", "utf-8")
    assert read_config(run).term_annotation == "replace"
    older = save(tmp_path / "older", None) / "config.yaml"
    lines = older.read_text("utf-8").splitlines(keepends=True)
    older.write_text("".join(one for one in lines if "term_annotation" not in one), "utf-8")
    assert read_config(older).term_annotation is None


def test_models_that_did_not_learn_it_are_refused(
    append: Path, glossary: Path, tmp_path: Path
) -> None:
    terms = {"glossary": str(glossary), "mode": "learned"}
    plain, replace = save(tmp_path / "plain", None), save(tmp_path / "replace", "replace")
    with pytest.raises(ConfigError, match="plain was not trained with annotated terms; choose"):
        Translator.load(plain, terms=terms)
    with pytest.raises(ConfigError, match="plain was not trained with annotated terms"):
        Translator.load(plain, terms={**terms, "mode": "both"})
    with pytest.raises(ConfigError, match=r"terms annotated by the method append, and .*replace"):
        # Their vocabularies differ, too; make them the same for the question here.
        for name in ("vocabulary.model", "model.safetensors"):
            (replace / name).write_bytes((append / name).read_bytes())
        Translator.load(replace, append, terms=terms)


def test_a_mode_goes_with_a_glossary_and_without_a_pivot(glossary: Path, tmp_path: Path) -> None:
    def problem(**values: object) -> str:
        with pytest.raises(ConfigError) as found:
            parse(TranslationSystem, {"models": ["m"], **values}, "here")
        return str(found.value)

    assert "terms" in problem(terms={"mode": "learned"})
    learned = {"glossary": "g.tsv", "mode": "learned"}
    assert "choose mode hard" in problem(terms=learned, pivot={"language": "en", "models": ["n"]})
    system = parse(
        TranslationSystem,
        {"models": ["m"], "engine": "ctranslate2", "terms": learned},
        "here",
    )
    assert system.terms is not None and not system.terms.insists
    write_system(tmp_path / "system.yaml", system)
    found = read_system(tmp_path / "system.yaml").terms
    assert found is not None and found.mode == "learned"


@pytest.mark.parametrize("mode", ["hard", "learned", "both"])
def test_a_glossary_of_another_text_is_warned_about_once(
    mode: str, append: Path, glossary: Path, caplog: pytest.LogCaptureFixture
) -> None:
    translator = Translator.load(append, terms={"glossary": str(glossary), "mode": mode})
    translator.translate(["e"] * 19)
    translator.translate(["e"] * 19 + ["a b"])
    assert not [one for one in caplog.messages if "none of the" in one]
    translator.translate(["e", "e d c"] * 10)
    (found,) = [one for one in caplog.messages if "none of the" in one]
    assert found.startswith("none of the 20 lines has a term of the glossary")


def test_a_glossary_without_terms_is_for_every_text(
    append: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Translator.load(append).translate(["e"] * 20, glossary={})
    assert not caplog.messages


def test_copying_unknown_pieces_does_not_count_lines_twice(
    append: Path, glossary: Path, caplog: pytest.LogCaptureFixture
) -> None:
    terms = {"glossary": str(glossary), "mode": "learned"}
    translator = Translator.load(append, terms=terms)
    translator.translate(["e"] * 19, unknown="copy")
    assert not [one for one in caplog.messages if "none of the" in one]
