"""What a configuration of a run may say, and what is said of one that makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from command_line import experiment

from dragoman.core.config import to_yaml
from dragoman.core.errors import ConfigError
from dragoman.models import ConvS2SConfig, TransformerConfig
from dragoman.recipe import read_experiment
from dragoman.training.optimizers.adam import AdamConfig
from dragoman.training.optimizers.muon import MuonConfig


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Where a configuration lies; its text is not read."""
    (tmp_path / "corpus").mkdir()
    return tmp_path / "corpus"


def configuration(folder: Path) -> Path:
    values = experiment()
    values["model"]["family"] = "transformer"
    del values["training"]["best_metric"]
    path = folder / "experiment.yaml"
    path.write_text(to_yaml(values), encoding="utf-8")
    return path


def test_the_family_decides_which_keys_a_model_has(corpus: Path) -> None:
    path = configuration(corpus)
    text = path.read_text(encoding="utf-8").replace("family: transformer", "dropout: 0.2")
    path.write_text(text, encoding="utf-8")
    config = read_experiment(path, ["model.heads=4"])
    assert config.model == TransformerConfig(
        encoder_layers=1, decoder_layers=1, d_model=16, d_ff=32, heads=4, dropout=0.2
    )
    replaced = read_experiment(path, ["model={family: convs2s, d_hidden: 24}"])
    assert replaced.model == ConvS2SConfig(d_hidden=24)
    with pytest.raises(ConfigError, match=r"'model.d_hiden'; did you mean 'd_hidden'\?"):
        read_experiment(path, ["model={family: convs2s, d_hiden: 24}"])
    with pytest.raises(ConfigError, match=r"model.family: .*did you mean 'convs2s'\?"):
        read_experiment(path, ["model={family: convsts}"])
    with pytest.raises(ConfigError, match=r"model: .*found 3"):
        read_experiment(path, ["model=3"])


def test_a_coverage_penalty_needs_attention(corpus: Path) -> None:
    """Said before training instead of at the first validation."""
    settings = ["search.coverage_penalty=0.2", "model={family: recurrent}"]
    read_experiment(configuration(corpus), settings)
    settings[1] = "model={family: bytenet}"
    with pytest.raises(ConfigError, match=r"coverage_penalty needs attention .*bytenet lacks"):
        read_experiment(configuration(corpus), settings)


@pytest.mark.parametrize("normalization", ["nfkc", "nmt_nfkc_cf"])
@pytest.mark.parametrize(
    ("transform", "remedy"),
    [
        ("kind: terms, glossary: g.tsv", r"to identity, or share and term_share to 1$"),
        ("kind: segment, segments: s.tsv", r"to identity$"),
        ("kind: inject_tags, segments: s.tsv", r"to identity$"),
    ],
)
def test_words_of_a_file_are_not_looked_for_in_folded_text(
    corpus: Path, normalization: str, transform: str, remedy: str
) -> None:
    settings = [
        f"data.train.0.transforms=[{{{transform}}}]",
        f"vocabulary.normalization={normalization}",
    ]
    with pytest.raises(ConfigError, match=f"data.train.0.transforms: .* {remedy}"):
        read_experiment(configuration(corpus), settings)
    read_experiment(configuration(corpus), settings[:1])
    settings[0] = "data.train.0.transforms=[{kind: terms, glossary: g.tsv, share: 1}]"
    read_experiment(configuration(corpus), settings)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("trainig.max_steps=5", r"unknown key 'trainig'; did you mean 'training'"),
        ("training.max_step=5", r"unknown key 'training.max_step'; did you mean"),
        ("training.max_steps=many", r"training.max_steps: .*found 'many'"),
        ("model.family=transformr", r"model.family: .*'transformr'; did you mean 'transformer'"),
        ("model={family: recurrent, heads: 2}", r"unknown key 'model.heads'; remove it"),
        ("model={family: recurrent, encoder_layer: 2}", r"did you mean 'encoder_layers'"),
        ("model={family: recurrent, cell: gate}", r"model.cell: .*'lstm', 'gru', .* found 'gate'"),
        ("model={family: recurrent, cell: gru}", None),
        ("vocabulary.joint=false", r"embeddings: shared needs vocabulary.joint: true"),
        ("training.best_metric=chrf", None),
        ("evaluation.metrics=[ter]", r"best_metric bleu is not among evaluation.metrics"),
        ("training.schedule.decay=linear", None),
        ("data.test={dev: {source: a, target: b}}", r"dev is the name of the scores of data.dev"),
        ("data.test={share: {source: a, target: b}}", r"data.test: share is something else in sc"),
        ("data.test={checkpoints: {source: a, target: b}}", r"test: checkpoints is something else"),
    ],
)
def test_configuration_errors_are_one_line(corpus: Path, setting: str, message: str | None) -> None:
    path = configuration(corpus)
    if message is None:
        read_experiment(path, [setting])
        return
    with pytest.raises(ConfigError, match=message) as caught:
        read_experiment(path, [setting])
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


KEEP = r"vocabulary.size: 120 is not read with training.start_from.vocabulary: keep; remove it"


class TestStart:
    """Training that starts from another model."""

    def test_its_path_starts_at_the_file_or_where_the_user_is(
        self, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = configuration(corpus)
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
        values["training"]["start_from"] = {"model": "../runs/parent", "vocabulary": "new"}
        path.write_text(to_yaml(values), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        start = read_experiment(path).training.start_from
        assert start is not None
        assert Path(start.model) == corpus / ".." / "runs" / "parent"
        for key in ("training.start_from.model", "training.start_from"):
            start = read_experiment(path, ["vocabulary={}", f"{key}=here"]).training.start_from
            assert start is not None
            assert Path(start.model) == tmp_path / "here"
        assert start.parts == ("encoder", "decoder", "embeddings")

    @pytest.mark.parametrize(
        ("choice", "settings", "said"),
        [
            ("keep", [], KEEP),
            ("keep", ["vocabulary={sampling: 0.1}"], None),
            ("keep", ["vocabulary={joint: false}"], r"vocabulary.joint: False is not read"),
            ("extend", [], None),
            ("extend", ["vocabulary.kind=unigram"], r"vocabulary.kind: unigram is not read"),
            ("new", ["vocabulary.kind=unigram"], None),
            ("new", ["vocabulary.joint=false"], r"embeddings: shared needs vocabulary.joint"),
        ],
    )
    def test_settings_of_a_vocabulary_that_is_the_other_models(
        self, choice: str, settings: list[str], said: str | None, corpus: Path
    ) -> None:
        start = f"training.start_from={{model: parent, vocabulary: {choice}}}"
        if said is None:
            read_experiment(configuration(corpus), [start, *settings])
            return
        with pytest.raises(ConfigError, match=said):
            read_experiment(configuration(corpus), [start, *settings])

    def test_a_base_may_be_the_recipe_of_the_other_model(
        self, corpus: Path, tmp_path: Path
    ) -> None:
        """Whose vocabulary section is not read then, but for sampling."""
        base = configuration(corpus)
        said = base.read_text(encoding="utf-8").replace("size: 120", "size: 120\n  sampling: 0.1")
        base.write_text(said, encoding="utf-8")
        path = tmp_path / "child.yaml"
        text = f"base: {base}\ntraining: {{start_from: runs/parent}}\n"
        path.write_text(text, encoding="utf-8")
        vocabulary = read_experiment(path).vocabulary
        assert (vocabulary.size, vocabulary.sampling) == (32000, 0.1)
        path.write_text(f"{text}vocabulary: {{size: 120}}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=KEEP):
            read_experiment(path)
        extend = ["training.start_from={model: parent, vocabulary: extend}"]
        assert read_experiment(path, extend).vocabulary.size == 120

    @pytest.mark.parametrize("choice", ["keep", "extend", "new"])
    def test_a_tag_that_only_the_other_model_may_know(self, choice: str, corpus: Path) -> None:
        """Its vocabulary, if it is used, is looked at when the text is prepared."""
        settings = [
            "data.dev.tags=[<old>]",
            "vocabulary={}",
            f"training.start_from={{model: parent, vocabulary: {choice}}}",
        ]
        if choice != "new":
            read_experiment(configuration(corpus), settings)
            return
        with pytest.raises(ConfigError, match=r"data.dev: no part of data.train has the tag <old>"):
            read_experiment(configuration(corpus), settings)

    def test_what_it_cannot_be_is_told(self, corpus: Path) -> None:
        for value, said in (
            ("3", "section of keys"),
            ("{parts: [encoder]}", "missing key"),
            ("{model: x, vocabulary: [keep]}", "'keep', 'extend' or 'new'"),
        ):
            with pytest.raises(ConfigError, match=said):
                read_experiment(configuration(corpus), [f"training.start_from={value}"])


class TestBase:
    """A recipe that says what differs from another."""

    def based(self, corpus: Path, folder: Path, text: str, name: str = "other.yaml") -> Path:
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_only_the_differences_stand_in_it(self, corpus: Path, tmp_path: Path) -> None:
        base = configuration(corpus)
        text = f"base: {base}\nmodel: {{heads: 4}}\ntraining: {{max_steps: 3}}\n"
        other = read_experiment(self.based(corpus, tmp_path, text), ["model.dropout=0.4"])
        whole = read_experiment(
            base, ["model.heads=4", "model.dropout=0.4", "training.max_steps=3"]
        )
        assert other == whole

    def test_paths_start_from_the_file_that_names_them(self, corpus: Path, tmp_path: Path) -> None:
        folder = corpus / "variants"
        text = f"base: ../{configuration(corpus).name}\n"
        text += "data: {dev: {path: dev.tsv, source: a, target: b}}"
        data = read_experiment(self.based(corpus, folder, text)).data
        assert data.train == read_experiment(configuration(corpus)).data.train
        assert data.dev_sets["dev"].files() == [folder / "dev.tsv"]
        assert data.dev_sets["dev"].source == "a"

    def test_another_family_keeps_nothing_of_the_first(self, corpus: Path, tmp_path: Path) -> None:
        text = f"base: {configuration(corpus)}\nmodel: {{family: convs2s, d_hidden: 24}}"
        config = read_experiment(self.based(corpus, tmp_path, text))
        assert config.model == ConvS2SConfig(d_hidden=24)

    def test_the_family_that_none_is_named_for_is_the_transformer(
        self, corpus: Path, tmp_path: Path
    ) -> None:
        plain = configuration(corpus)
        text = plain.read_text(encoding="utf-8").replace("  family: transformer\n", "")
        assert "family" not in text
        plain.write_text(text, encoding="utf-8")
        above = f"base: {plain}\nmodel: {{family: transformer, heads: 4}}"
        config = read_experiment(self.based(corpus, tmp_path, above))
        assert isinstance(config.model, TransformerConfig)
        assert (config.model.multi_head.heads, config.model.d_model) == (4, 16)

    def test_settings_override_what_the_base_says(self, corpus: Path, tmp_path: Path) -> None:
        path = self.based(corpus, tmp_path, f"base: {configuration(corpus)}\nmodel:\n")
        data = read_experiment(path, ["data.test.news.path=x.tsv", "data.dev.weight=2"]).data
        assert data.test["news"].files() == [tmp_path / "x.tsv"]
        assert data.dev_sets["dev"].weight == 2

    def test_a_base_may_have_a_base(self, corpus: Path, tmp_path: Path) -> None:
        middle = f"base: {configuration(corpus)}\nseed: 5\nmodel: {{heads: 4}}"
        self.based(corpus, tmp_path, middle, "middle.yaml")
        config = read_experiment(self.based(corpus, tmp_path, "base: middle.yaml\nseed: 7"))
        assert isinstance(config.model, TransformerConfig)
        assert (config.seed, config.model.multi_head.heads) == (7, 4)

    def test_the_family_of_a_base_may_stand_in_its_own_base(
        self, corpus: Path, tmp_path: Path
    ) -> None:
        lowest = f"base: {configuration(corpus)}\nmodel: {{family: convs2s, d_hidden: 24}}"
        self.based(corpus, tmp_path, lowest, "lowest.yaml")
        middle = "base: lowest.yaml\nmodel: {d_hidden: 32}"
        self.based(corpus, tmp_path, middle, "middle.yaml")
        above = "base: middle.yaml\nmodel: {family: transformer, heads: 4}"
        config = read_experiment(self.based(corpus, tmp_path, above))
        assert config.model == TransformerConfig(heads=4)

    def test_another_optimizer_keeps_only_the_settings_that_it_has(
        self, corpus: Path, tmp_path: Path
    ) -> None:
        lowest = "{kind: muon, momentum: 0.9, clip_norm: 1.5}"
        lowest = f"base: {configuration(corpus)}\ntraining: {{optimizer: {lowest}}}"
        self.based(corpus, tmp_path, lowest, "lowest.yaml")
        middle = "base: lowest.yaml\ntraining: {optimizer: {matrix_rate: 4}}"
        middle = str(self.based(corpus, tmp_path, middle, "middle.yaml"))
        muon = read_experiment(middle).training.optimizer
        assert muon == MuonConfig(momentum=0.9, clip_norm=1.5, matrix_rate=4)

        above = "base: middle.yaml\ntraining: {optimizer: {kind: adamw, beta1: 0.8}}"
        chosen = read_experiment(self.based(corpus, tmp_path, above)).training.optimizer
        assert chosen == AdamConfig(kind="adamw", beta1=0.8, clip_norm=1.5)
        settings = ["training.optimizer.kind=adam", "training.optimizer.beta2=0.9"]
        chosen = read_experiment(middle, settings).training.optimizer
        assert chosen == AdamConfig(beta2=0.9, clip_norm=1.5)
        with pytest.raises(ConfigError, match=r"unknown key 'training.optimizer.momentum'"):
            read_experiment(middle, [*settings, "training.optimizer.momentum=0.9"])

    def test_wrong_bases_are_told(self, corpus: Path, tmp_path: Path) -> None:
        path = self.based(corpus, tmp_path, "base: none.yaml")
        with pytest.raises(ConfigError, match=r"none.yaml: no such configuration file"):
            read_experiment(path)
        self.based(corpus, tmp_path, "base: other.yaml", "first.yaml")
        path = self.based(corpus, tmp_path, "base: first.yaml")
        with pytest.raises(ConfigError, match=r"base: other.yaml is based on this file"):
            read_experiment(path)
        with pytest.raises(ConfigError, match=r"base: expected the name of a file, found 3"):
            read_experiment(self.based(corpus, tmp_path, "base: 3"))


def test_each_set_is_scored_by_its_own_language(corpus: Path) -> None:
    path = configuration(corpus)
    config = read_experiment(path)
    assert config.evaluations() == [config.evaluation] * 2, "not asked for"
    metrics = "evaluation.metrics=[bleu, wrong_language]"
    (part,) = read_experiment(path).data.train
    french = {**part.model_dump(), "target_language": "fr", "tags": ["<2fr>"]}
    german = {**part.model_dump(), "tags": ["<2de>"]}
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    values["data"]["train"] = [french, german]
    values["data"]["dev"] |= {"target_language": "fr", "tags": ["<2fr>"]}
    values["data"]["test"]["news"] |= {"tags": ["<2de>"]}
    path.write_text(to_yaml(values), encoding="utf-8")
    dev, test = read_experiment(path, [metrics]).evaluations()
    assert (dev.language, test.language) == ("fr", "de")
    assert set(dev.candidate_languages) == set(test.candidate_languages) == {"en", "de", "fr"}
    chosen = read_experiment(path, [metrics, "evaluation.candidate_languages=[de, nl]"])
    assert chosen.evaluations()[0].candidate_languages == ("de", "nl")
    with pytest.raises(ConfigError, match=r"evaluation\.language: each set is scored by its own"):
        read_experiment(path, [metrics, "evaluation.language=de"])


def test_bounds_go_with_a_moving_average_of_which_one_checkpoint_is_taken(corpus: Path) -> None:
    path = configuration(corpus)
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    dev = values["data"]["dev"]
    values["data"]["dev"] = {"domain": dev, "general": dev}
    values["training"]["bounds"] = {"general": {"may_lose": 1, "metric": "loss"}}
    path.write_text(to_yaml(values), encoding="utf-8")
    several = "training.average_checkpoints=5"
    with pytest.raises(ConfigError, match="5 checkpoints would be averaged"):
        read_experiment(path, [several])
    averaged = read_experiment(path, [several, "training.ema_decay=0.9"])
    assert averaged.training.average_checkpoints == 5
