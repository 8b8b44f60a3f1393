"""What a configuration of a run may say, and what is said of one that makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import experiment

from dragoman.config import to_yaml
from dragoman.errors import ConfigError
from dragoman.models import ConvS2SConfig, TransformerConfig
from dragoman.recipe import read_experiment


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
    with pytest.raises(ConfigError, match=r"coverage_penalty needs attention .*bytenet has not"):
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
        ("model={family: recurrent, cell: gate}", r"model.cell: .*'lstm' or 'gru', found 'gate'"),
        ("model={family: recurrent, cell: gru}", None),
        ("vocabulary.joint=false", r"embeddings: shared needs vocabulary.joint: true"),
        ("training.best_metric=chrf", None),
        ("evaluation.metrics=[ter]", r"best_metric bleu is not among evaluation.metrics"),
        ("training.schedule.decay=linear", None),
        ("data.test={dev: {source: a, target: b}}", r"dev is the name of data.dev's scores"),
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
        assert data.dev.files() == [folder / "dev.tsv"]
        assert data.dev.source == "a"

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
        assert (config.model.heads, config.model.d_model) == (4, 16)

    def test_settings_override_what_the_base_says(self, corpus: Path, tmp_path: Path) -> None:
        path = self.based(corpus, tmp_path, f"base: {configuration(corpus)}\nmodel:\n")
        data = read_experiment(path, ["data.test.news.path=x.tsv", "data.dev.weight=2"]).data
        assert data.test["news"].files() == [tmp_path / "x.tsv"]
        assert data.dev.weight == 2

    def test_a_base_may_have_a_base(self, corpus: Path, tmp_path: Path) -> None:
        middle = f"base: {configuration(corpus)}\nseed: 5\nmodel: {{heads: 4}}"
        self.based(corpus, tmp_path, middle, "middle.yaml")
        config = read_experiment(self.based(corpus, tmp_path, "base: middle.yaml\nseed: 7"))
        assert (config.seed, config.model.heads) == (7, 4)

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
