"""What the documentation says can be done: links lead somewhere, commands and settings exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest
import yaml
from command_line import experiment
from tiny_model import save_tiny_model

import dragoman
from dragoman.cli.main import commands
from dragoman.core.config import override, parse, to_yaml
from dragoman.core.errors import ConfigError
from dragoman.core.text_tables import anchor
from dragoman.evaluation.metric_commands import MetricCommand
from dragoman.recipe import ExperimentConfig
from dragoman.saved.system import TranslationSystem
from dragoman.server.server_config import ServerConfig
from dragoman.techniques.teachers.teacher_config import TeacherConfig
from dragoman.text import synthetic
from dragoman.text.corpora.corpus_part import CorpusPart
from dragoman.translation.building import torch_engine
from dragoman.translation.opening import open_system
from studies.tables.plan import TableConfig

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for folder in ("*.md", "docs/**/*.md", "recipes/**/*.md", "studies/**/*.md")
    for page in ROOT.glob(folder)
)

INDENTED = re.compile(r"^    (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
COMMAND = re.compile(r"\bdragoman ([a-z][\w-]*)([^|;#\n]*)")
OPTION = re.compile(r"(?<!\S)(--[a-z][\w-]*)")
SETTING = re.compile(r"--set ([a-z][\w.]*=[^\s`]+)")

MINIMAL = {
    "data": {"train": [{"source": "a", "target": "b"}], "dev": {"source": "a", "target": "b"}}
}

Check = Callable[[Path], None]
CHECKS: list[Check] = []
"""What holds for every page."""


def check(function: Check) -> Check:
    CHECKS.append(function)
    return function


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_check_holds_for(page: Path) -> None:
    """One test for each page, as a thousand take longer to begin than to run."""
    problems = []
    for holds in CHECKS:
        try:
            holds(page)
        except (AssertionError, ConfigError, SyntaxError, yaml.YAMLError) as error:
            problems.append(f"{holds.__name__}: {error}")
    assert not problems, "\n".join(problems)


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def blocks(page: Path, *languages: str) -> list[str]:
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [block for language, block in found if language in languages]


def command_lines(page: Path) -> Iterator[tuple[str, str]]:
    """Name and the rest of each command of Dragoman's, in code blocks and in code within lines."""
    text = prose(page)
    fenced = blocks(page, "", "sh", "bash", "console")
    for code in [*fenced, *INDENTED.findall(text), *SPAN.findall(text)]:
        yield from COMMAND.findall(code.replace("\\\n", " "))


@check
def links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if link.startswith(("https://", "http://")):
            continue
        name, _, place = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name}: {link}"
        if place:
            headings = [anchor(heading) for heading in HEADING.findall(prose(target))]
            assert place in headings, f"{page.name}: {link} is none of {headings}"


@check
def commands_and_their_options_exist(page: Path) -> None:
    for name, rest in command_lines(page):
        assert name in commands.commands, f"{page.name}: dragoman {name}"
        command: click.Command = commands.commands[name]
        if isinstance(command, click.Group) and rest.split():
            name, *_ = rest.split()  # noqa: PLW2901
            assert name in command.commands, f"{page.name}: dragoman {command.name} {name}"
            command = command.commands[name]
        known = {"--help"} | {
            option
            for parameter in command.params
            if isinstance(parameter, click.Option)
            for option in parameter.opts
        }
        unknown = set(OPTION.findall(rest)) - known
        assert not unknown, f"{page.name}: dragoman {name} has no {unknown}"


@check
def yaml_is_a_configuration_or_a_part_of_one(page: Path) -> None:
    for block in blocks(page, "yaml"):
        values = yaml.safe_load(block)
        values.pop("base", None)  # what is laid over another file
        if set(values) <= set(CorpusPart.model_fields):
            parse(CorpusPart, values, page)
        elif "systems" in values:
            systems = [
                {"models": [one]} if isinstance(one, str) else one for one in values["systems"]
            ]
            parse(ServerConfig, {**values, "systems": systems}, page)
        elif "models" in values:
            parse(TranslationSystem, values, page)
        elif "url" in values:
            parse(TeacherConfig, values, page)
        elif "sections" in values:
            parse(TableConfig, values, page)
        elif all(isinstance(each, dict) and "command" in each for each in values.values()):
            for each in values.values():
                parse(MetricCommand, each, page)
        else:
            parse(ExperimentConfig, {**MINIMAL, **values}, page)


@check
def settings_of_commands_are_valid(page: Path) -> None:
    for paragraph in page.read_text(encoding="utf-8").split("\n\n"):  # a command may have several
        settings = SETTING.findall(paragraph)
        names = {re.split("[.=]", one)[0] for one in settings}
        if names and names <= {*ServerConfig.model_fields}:
            parse(ServerConfig, override({"systems": [{"models": ["x"]}]}, settings), page)
        else:
            parse(ExperimentConfig, override(MINIMAL, settings), page)


@check
def blocks_and_headings_stand_apart(page: Path) -> None:
    """A line directly below a block of code is usually left over from it."""
    text = FENCE.sub("```", page.read_text(encoding="utf-8"))
    glued = re.findall(r"^```\n(?!```)(.+)|^(.+)\n(?=#+ )", text, re.MULTILINE)
    assert not glued, f"{page.name}: put an empty line around {glued}"


@check
def python_can_be_read(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, str(page), "exec")


def test_the_manual_of_python_does_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its examples are carried out with a small model and little text."""
    save_tiny_model(tmp_path / "demo/run")
    synthetic.write(tmp_path, 60, dev=5, test=5)
    (tmp_path / "my.yaml").write_text(to_yaml(experiment()), encoding="utf-8")
    (tmp_path / "input.txt").write_text("one euro\ntwo euros\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    engine = "dragoman.translation.building.WorkerEngine"  # without processes:
    monkeypatch.setattr(engine, lambda system, _: torch_engine(open_system(system)))
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    printed: list[str] = []
    errors = 0
    for language, block in FENCE.findall(page):
        if language == "python":
            exec(compile(block, "python.md", "exec"), names)
            printed = capsys.readouterr().out.splitlines()
            told = re.findall(r"print\(error\)  # (.*)", block)
            assert [line for line in printed if line in told] == told
            errors += len(told)
        else:
            assert block.splitlines() == printed
    assert errors == 2
    assert set(dragoman.__all__) - {"__version__"} <= set(re.findall(r"\w+", page))
    for name in ("load", "train", "read_recipe", "evaluate"):
        assert f"dragoman.{name}(" in "".join(blocks(ROOT / "docs" / "python.md", "python"))


def test_the_examples_of_evaluation_print_what_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Apart from the figures, which are of other texts."""
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    lines = ["the cat sat here", "a house"]
    texts = ("hypotheses", "references", "opennmt", "online_a", "promt")
    shown = 0
    for (language, code), (other, block) in pairwise(FENCE.findall(page)):
        if (language, other) != ("python", ""):
            continue
        exec(compile(code, "evaluation.md", "exec"), dict.fromkeys(texts, lines))
        printed = capsys.readouterr().out
        first, found = ([one.split()[:2] for one in text.splitlines()] for text in (block, printed))
        assert found == first
        shown += 1
    assert shown == 2


@check
def no_run_lies_where_a_table_keeps_its_own(page: Path) -> None:
    """`make results-TOPIC` makes a folder of runs, and a run beside them is not one of them."""
    tables = {f"runs/{path.parent.name}" for path in ROOT.glob("recipes/*/table.yaml")}
    for name, rest in command_lines(page):
        for option, value in pairwise(rest.split()):
            assert option != "--run" or value not in tables, f"{page.name}: {name} {rest}"


@check
def files_of_the_repository_exist(page: Path) -> None:
    for span in SPAN.findall(prose(page)):
        if re.fullmatch(r"(src|tests|docs|recipes)/[a-z0-9_./-]+", span):
            assert (ROOT / span).exists(), f"{page.name}: {span}"


def test_every_command_is_in_the_list_of_commands() -> None:
    documented = {name for name, _ in command_lines(ROOT / "docs" / "command-line.md")}
    assert documented == set(commands.commands)


def test_every_room_is_in_the_picture_of_the_architecture() -> None:
    picture = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    entries = (ROOT / "src" / "dragoman").iterdir()
    rooms = {
        f"{entry.name}/" if entry.is_dir() else entry.name
        for entry in entries
        if not entry.name.startswith("__") and entry.name not in {"py.typed", "errors.py"}
    }
    assert rooms == set(re.findall(r'class="r">([^<]*)<', picture))
