"""Every recipe is a valid experiment, on text that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.models import TransformerConfig
from dragoman.recipe import ExperimentConfig, read_experiment
from dragoman.text.corpora.corpus_manifest import corpora
from dragoman.text.public_corpora import corpora_folder
from studies.tables.plan import read_table
from studies.tables.workplace import Workplace

ROOT = Path(__file__).parents[1]
TABLES = sorted((ROOT / "recipes").rglob("table.yaml"))
RECIPES = sorted({*(ROOT / "recipes").rglob("*.yaml")} - {*TABLES})


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_it_can_be_read_and_its_text_can_be_had(recipe: Path) -> None:
    config = read_experiment(recipe)
    for file in (file for _, part in config.parts() for file in part.files()):
        name, *inner = file.relative_to(corpora_folder()).parts
        assert "/".join(inner) in {known.path for known in corpora()[name].files}
        if (corpora_folder() / name).is_dir():
            assert file.exists()


def leaves(section: dict[str, Any], name: str = "") -> dict[str, Any]:
    """Settings by their whole names, such as ``training.schedule.decay``."""
    found: dict[str, Any] = {}
    for key, value in section.items():
        found |= leaves(value, f"{name}{key}.") if isinstance(value, dict) else {name + key: value}
    return found


def differences(recipe: str, base: str) -> dict[str, Any]:
    """What the first recipe sets otherwise than the second."""
    ours, theirs = (
        leaves(read_experiment(ROOT / "recipes" / f"{name}.yaml").model_dump(mode="json"))
        for name in (recipe, base)
    )
    return {key: ours.get(key) for key in {*ours, *theirs} if ours.get(key) != theirs.get(key)}


def names(folder: str, *, besides: str) -> list[str]:
    """Recipes of a folder without the one that the others are compared with."""
    return sorted(
        path.stem for path in (ROOT / "recipes" / folder).glob("*.yaml") if path.stem != besides
    )


@pytest.mark.parametrize("name", names("table3", besides="base"))
def test_a_row_of_table_3_varies_one_thing(name: str) -> None:
    one_thing = (
        {"model.heads"},
        {"model.d_k"},
        {"model.encoder_layers", "model.decoder_layers"},
        {"model.d_model"},
        {"model.dropout"},
        {"training.label_smoothing"},
        {"model.positions", "model.max_positions"},
    )
    assert set(differences(f"table3/{name}", "table3/base")) in one_thing


def test_table_3_averages_no_checkpoints_as_in_the_paper() -> None:
    base = read_experiment(ROOT / "recipes/table3/base.yaml")
    assert base.training.average_checkpoints == 1


def test_gnmt_searches_with_its_papers_penalties() -> None:
    """Alpha and beta of 0.2 (Wu et al. 2016, section 7)."""
    search = read_experiment(ROOT / "recipes/multi30k-ende-gnmt.yaml").search
    assert (search.length_penalty, search.coverage_penalty) == (0.2, 0.2)


def test_attention_varies_in_scoring_and_width_of_keys_alone() -> None:
    found = {
        name: differences(f"attention/{name}", "attention/scaled-32")
        for name in names("attention", besides="scaled-32")
    }
    scorings = {"scaled": "scaled_dot", "unscaled": "dot", "additive": "additive"}
    assert len(found) == 8
    for name, changed in found.items():
        scoring, d_k = name.split("-")
        assert changed.pop("model.d_k", 32) == int(d_k)
        assert changed.pop("model.attention", "scaled_dot") == scorings[scoring]
        assert not changed


VARIANTS = {  # recipe: the one that it varies, and what it sets otherwise
    "window": ("base", {"model.window"}),
    "global": ("window", {"model.global_positions", "model.global_tags"}),
    "strided": ("base", {"model.sparsity", "model.stride"}),
    "fixed": ("base", {"model.sparsity", "model.stride"}),
    "gru": ("recurrent", {"model.cell"}),
    "tanh": ("recurrent", {"model.cell"}),
    "factorised": ("recurrent", {"model.cell", "model.cell_rank"}),
    "grouped": ("recurrent", {"model.cell", "model.cell_groups"}),
    "deep": ("deep-att", {"model.fast_forward"}),
    "deep-residual": ("deep", {"model.residual"}),
    "deep-one-column": ("deep-att", {"model.bidirectional"}),
    "convs2s-no-positions": ("convs2s", {"model.positions"}),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_varies_one_thing(name: str) -> None:
    base, one_thing = VARIANTS[name]
    assert set(differences(f"variants/{name}", f"variants/{base}")) == one_thing


def test_every_variant_has_the_same_budget() -> None:
    found = names("variants", besides="base")
    assert {*found} - {"table"} == {*VARIANTS, "recurrent", "deep-att", "convs2s"}
    for name in VARIANTS:
        changed = differences(f"variants/{name}", "variants/base")
        others = {key for key in changed if not key.startswith("model.")}
        assert others <= {"training.optimizer.clip_norm"}


TAGS = {"data.train", "data.dev.target", "data.test.test.target", "evaluation.metrics"}
GUIDANCE = {"training.objective.kind", "training.objective.weight"}
TASKS = {"data.train", "training.tasks"}
CONTEXT = {"data.context", "training.step_tokens"}
BOTH_SIDES = {"data.context.target", "training.step_tokens", "search.allow_tags"}
ONE_THING = {  # recipe: the one that it is compared with, and what it sets otherwise
    "unsupervised/words": ("base", {"vocabulary.size"}),
    "unsupervised/encoder-tag": ("words", {"model.language_tags"}),
    "unsupervised/captions-small": ("words", {"data.train", "data.held_out"}),
    "unsupervised/denoising": ("words", TASKS),
    "unsupervised/back-translation": ("words", TASKS),
    "unsupervised/french": ("words", {"data.train", "data.dev"}),
    **{f"unsupervised/supervised-{n}": ("supervised-1000", {"data.train"}) for n in (5000, 10_000)},
    **{f"unsupervised/semi-{n}": ("base", {"data.train"}) for n in (1000, 5000, 10_000)},
    "unsupervised/supervised-29000": ("supervised-1000", {"data.train", "model.dropout"}),
    "unsupervised/lstm": ("words", {"model", "training.optimizer.clip_norm"}),
    "parsing/unguided": ("base", GUIDANCE),
    "parsing/untagged": ("base", TAGS),
    "parsing/lstm-untagged": ("lstm", TAGS),
    "context/previous": ("alone", CONTEXT),
    "context/random": ("previous", {"data.context.choice"}),
    "context/two-previous": ("previous", {"data.context.sentences", "training.step_tokens"}),
    "context/both-sides": ("previous", BOTH_SIDES),
    "context/window": ("previous", {"model.window"}),
    "context/window-global": ("window", {"model.global_tags"}),
    "classification/languages-attention": ("languages", {"model.pooling"}),
    "classification/languages-convs2s": ("languages", {"model.backbone"}),
    "classification/languages-recurrent": ("languages", {"model.backbone", "model.d_model"}),
}


@pytest.mark.parametrize("name", ONE_THING)
def test_rows_that_are_compared_differ_in_one_thing(name: str) -> None:
    """A section such as ``data.dev`` stands for all that is in it."""
    base, one_thing = ONE_THING[name]
    folder, _ = name.split("/")

    def thing(key: str) -> str:
        return next((one for one in one_thing if f"{key}.".startswith(f"{one}.")), key)

    assert {thing(key) for key in differences(name, f"{folder}/{base}")} == one_thing


@pytest.mark.parametrize("name", ["homeassistant-ko", "libreoffice-de", "libreoffice-ko"])
def test_terms_are_learned_in_the_same_steps_from_other_text(name: str) -> None:
    """Few pairs need more dropout."""
    changed = {key for key in differences(f"terms/{name}", "terms/base") if "data." not in key}
    text = {"target_language", "evaluation.bleu_tokenize", "vocabulary.size"}
    assert changed <= text | {"model.dropout"}


@pytest.mark.parametrize("name", names("positions", besides="sinusoidal"))
def test_positions_vary_alone(name: str) -> None:
    changed = differences(f"positions/{name}", "positions/sinusoidal")
    assert changed.pop("model.positions") == name
    assert set(changed) <= {"model.max_positions", "model.relative_distance"}


def test_positions_are_trained_on_short_sentences_alone() -> None:
    assert set(differences("positions/sinusoidal", "table3/base")) == {
        "data.max_pieces",
        "training.step_tokens",
        "training.max_steps",
    }
    relative = read_experiment(ROOT / "recipes/positions/relative.yaml")
    assert isinstance(relative.model, TransformerConfig)
    # every distance that is told apart occurs in training, the end symbol counted
    assert relative.model.positional_encoding.relative_distance <= relative.data.max_pieces


@pytest.mark.parametrize("name", ["bart", "mass", "bert", "multilingual", "mbart", "gpt"])
def test_pre_training_varies_text_and_task_alone(name: str) -> None:
    """With the same steps and sizes, and everything masked that its paper masks."""
    changed = differences(f"pretraining/{name}", "pretraining/base")
    allowed = {"data.train", "evaluation.metrics", "training.max_steps"}
    allowed |= {"training.best_metric", "training.validation_steps"}
    if name == "bert":
        allowed |= {key for key in changed if key.startswith("training.objective.")}
    if name == "gpt":
        allowed |= {key for key in changed if key.startswith("model.")}
        layers = changed["model.layers"], changed["model.decoder_layers"]
        assert layers == (3, None)
    assert {key for key in changed if not key.startswith("data.dev.")} <= allowed
    assert changed["training.max_steps"] == 1000
    masks = {"bart": "mask_spans", "mbart": "mask_spans", "mass": "mask_fragment"}
    config = read_experiment(ROOT / f"recipes/pretraining/{name}.yaml")
    for part in config.data.train:
        kinds = [transform.kind for transform in part.transforms]
        assert [kind for kind in kinds if kind.startswith("mask")] == [
            mask for one, mask in masks.items() if one == name
        ]


def test_candidates_for_records_are_chosen_without_a_test_set() -> None:
    """Rows translate dev until they are chosen; no text that is added has captions of a test."""
    for name in names("records", besides="table"):
        data = read_experiment(ROOT / f"recipes/records/{name}.yaml").data
        assert not data.test
        held = {file.name for part in data.held_out for file in part.files()}
        tests = {f"test_{year}_flickr.{side}.gz" for year in (2016, 2017) for side in ("en", "de")}
        assert held == (set() if data.cleaning.keep_held_out else tests)
    *candidates, chosen = read_table(ROOT / "recipes/records/table.yaml").sections
    assert chosen.title == "Chosen"
    for section in candidates:
        assert all(test.startswith("dev-") for test in section.tests)


def stage(table: str, name: str) -> ExperimentConfig:
    """What a stage of a folder's table trains."""
    path = ROOT / "recipes" / table / "table.yaml"
    place = Workplace(read_table(path), path, Path("runs") / table)
    return place.recipe(place.table.stages[name])


@pytest.mark.parametrize("pairs", ["", "-29000"])
def test_what_is_joined_to_frozen_models_learns_slowly(pairs: str) -> None:
    """As docs/fusion.md advises; a translator from scratch learns as fast as without fusion."""
    advised = {"peak_learning_rate": 0.0005, "warmup_steps": 100}
    frozen = stage("monolingual", f"deep-fusion{pairs}").training.schedule
    assert frozen.model_dump(include={*advised}) == advised
    learning = stage("monolingual", f"deep-fusion-translation{pairs}").training.schedule
    alone = read_experiment(ROOT / f"recipes/monolingual/parallel{pairs}.yaml").training
    assert learning == alone.schedule


def test_differences_between_students_and_their_teacher_have_intervals() -> None:
    assert read_table(ROOT / "recipes/monolingual/table.yaml").difference_samples == 1000


@pytest.mark.parametrize("name", ["many-to-en", "en-to-many", "many-to-many"])
def test_directions_are_oversampled_or_not_and_nothing_else(name: str) -> None:
    changed = differences(f"multilingual/{name}-as-is", f"multilingual/{name}")
    assert changed == {"data.sampling_temperature": None}
    rows = read_table(ROOT / "recipes/multilingual/table.yaml").rows().values()
    assert any(f"{{{name}-as-is}}" in str(row.translate) for row in rows)


@pytest.mark.parametrize("name", ["multilingual", "homeassistant"])
def test_tables_of_several_languages_count_lines_in_the_wrong_one(name: str) -> None:
    """Among those that the models know, or rare languages of other text would be counted."""
    table = read_table(ROOT / "recipes" / name / "table.yaml")
    assert "wrong_language" in table.evaluation.metrics
    sides = {(test.source_language, test.target_language) for test in table.tests.values()}
    assert {*table.evaluation.candidate_languages} == {one for pair in sides for one in pair}


def test_both_amounts_of_pairs_have_the_same_rows() -> None:
    few, *_, many, _ = read_table(ROOT / "recipes/monolingual/table.yaml").sections
    assert (few.title, many.title) == ("5,000 pairs", "29,000 pairs")
    rows = [[(row.label, row.published) for row in one.rows.values()] for one in (few, many)]
    assert rows[0] == rows[1]


def test_further_rounds_have_text_in_the_source_language() -> None:
    """Otherwise they would translate the sources of the real pairs once more."""
    stages = read_table(ROOT / "recipes/monolingual/table.yaml").stages.values()
    repeated = [stage.command for stage in stages if stage.command and "--rounds" in stage.command]
    assert repeated
    for command in repeated:
        assert "--monolingual-source {corpora}/multi30k/mono/train.en.gz" in command


BASE = {  # "Attention Is All You Need", arXiv:1706.03762v7, by section
    "model.encoder_layers": 6,  # 3.1
    "model.decoder_layers": 6,
    "model.d_model": 512,
    "model.norm": "post",
    "model.normalization": "layer",
    "model.attention": "scaled_dot",  # 3.2.1
    "model.heads": 8,  # 3.2.2
    "model.d_k": None,  # d_model / heads
    "model.d_v": None,
    "model.encoder_mixing": "self_attention",  # 3.2.3
    "model.decoder_mixing": "self_attention",
    "model.window": None,
    "model.d_ff": 2048,  # 3.3
    "model.activation": "relu",
    "model.mixture": None,
    "model.embeddings": "shared",  # 3.4
    "model.positions": "sinusoidal",  # 3.5
    "vocabulary.joint": True,  # 5.1
    "vocabulary.size": 37000,
    "training.max_steps": 100_000,  # 5.2
    "training.optimizer.kind": "adam",  # 5.3
    "training.optimizer.beta1": 0.9,
    "training.optimizer.beta2": 0.98,
    "training.optimizer.epsilon": 1e-9,
    "training.optimizer.weight_decay": 0.0,
    "training.optimizer.clip_norm": None,
    "training.schedule.warmup_steps": 4000,
    "training.schedule.peak_learning_rate": None,
    "training.schedule.decay": "inverse_sqrt",
    "model.dropout": 0.1,  # 5.4
    "model.attention_dropout": 0.0,
    "model.feed_forward_dropout": 0.0,
    "training.label_smoothing": 0.1,
    "training.average_checkpoints": 5,  # 6.1
    "search.beam": 4,
    "search.length_penalty": 0.6,
    "search.coverage_penalty": 0.0,
    "search.extra_length": 50,
    "search.minimum_length": 0,
    "search.maximum_length": None,
    "search.no_repeat_ngram": 0,
    "search.sampling": None,
}
BIG = BASE | {  # Table 3
    "model.d_model": 1024,
    "model.d_ff": 4096,
    "model.heads": 16,
    "model.dropout": 0.3,
    "training.max_steps": 300_000,  # 5.2
    "training.average_checkpoints": 20,  # 6.1
}


WSJ = BASE | {  # section 6.3; neither the steps nor the dropout are there
    **dict.fromkeys(["model.encoder_layers", "model.decoder_layers"], 4),
    "model.d_model": 1024,
    "model.embeddings": "target",  # words and brackets have nothing in common
    "vocabulary.joint": False,
    "vocabulary.size": 16_000,
    "search.beam": 21,
    "search.length_penalty": 0.3,
    "search.extra_length": 300,
}


def value(values: dict[str, Any], key: str) -> Any:
    for name in key.split("."):
        values = values[name]
    return values


BASE_FRENCH = BASE | {"target_language": "fr", "vocabulary.size": 32_000}  # section 5.1
# Its dropout is another one than for German (6.1).
BIG_FRENCH = BIG | {"target_language": "fr", "vocabulary.size": 32_000, "model.dropout": 0.1}
PAPERS = {
    "transformer-base": BASE,
    "transformer-big": BIG,
    "transformer-base-enfr": BASE_FRENCH,
    "transformer-big-enfr": BIG_FRENCH,
    "parsing/wsj-4x1024": WSJ,
}


@pytest.mark.parametrize(("name", "paper"), PAPERS.items())
def test_the_papers_models_are_the_papers(name: str, paper: dict[str, Any]) -> None:
    config = read_experiment(ROOT / "recipes" / f"{name}.yaml")
    assert {key: value(config.model_dump(), key) for key in paper} == paper
    assert config.training.step_tokens == 25_000  # section 5.1


@pytest.mark.parametrize("size", ["base", "big"])
def test_french_has_its_own_text_alone(size: str) -> None:
    one, other = (
        leaves(read_experiment(f"transformer-{size}{pair}").data.model_dump(mode="json"))
        for pair in ("", "-enfr")
    )
    # Lists count as a whole in leaves, so that each differing key names its text.
    assert {key for key in other if one[key] != other[key]} == {
        "train",
        *(
            f"{part}.{side}"
            for part in ("dev", "test.newstest2014")
            for side in ("source", "target")
        ),
    }


def test_the_defaults_are_the_papers_base_model() -> None:
    config = read_experiment(ROOT / "recipes" / "transformer-base.yaml")
    assert config.model == TransformerConfig()
    defaults = type(config).model_fields
    assert config.search == defaults["search"].default
    # The paper averages five checkpoints; by default the dev sets decide.
    paper = {"average_checkpoints": 5}
    assert config.training == defaults["training"].default.model_copy(update=paper)
    assert not config.length_penalties
