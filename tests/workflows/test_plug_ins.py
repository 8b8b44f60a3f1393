"""The package of docs/plug-ins.md, installed, and each of its parts used by command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from command_line import LINES, CommandLine, one_error

from dragoman.core.plugins import Registry, installed
from dragoman.saved.weights import WEIGHTS_FILE, read_weights
from dragoman.text.sentences import split_text

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plug-ins.md").read_text(encoding="utf-8")
(PROJECT,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MODULES = dict(re.findall(r"^`doors/(\w+)\.py`.*?^```python\n(.*?)^```$", PAGE, re.M | re.S))
ENTRIES: dict[str, dict[str, str]] = tomllib.loads(PROJECT)["project"]["entry-points"]

UNLEARNED = {0, 3}
"""Exit codes of translations by a model of twelve steps, which may be empty."""


def write_package(folder: Path) -> None:
    (folder / "doors").mkdir(parents=True)
    (folder / "doors" / "__init__.py").touch()
    for name, source in MODULES.items():
        (folder / "doors" / f"{name}.py").write_text(source, encoding="utf-8")
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package in a folder, as pip would install it there."""
    site = tmp_path_factory.mktemp("site")
    write_package(site)
    about = site / "dragoman_doors-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: dragoman-doors\nVersion: 1.0\n")
    lines = []
    for group, entries in ENTRIES.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        installed.cache_clear()
        yield
    installed.cache_clear()


pytestmark = pytest.mark.usefixtures("package")


def registries() -> dict[str, Registry[Any]]:
    """All registries in modules of Dragoman, by group."""
    found: dict[str, Registry[Any]] = {}
    for path in (ROOT / "src" / "dragoman").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"Registry\(\n", text) and path.name not in {"plugins.py", "sections.py"}:
            parts = path.relative_to(ROOT / "src").with_suffix("").parts
            module = import_module(".".join(parts).removesuffix(".__init__"))
            own = [one for one in vars(module).values() if isinstance(one, Registry)]
            found |= {registry.group: registry for registry in own}
    return found


def test_the_page_has_every_kind() -> None:
    groups = set(re.findall(r"^\|[^|]*\| `(dragoman\.\w+)` \|", PAGE, re.MULTILINE))
    of_choices = {f"dragoman.{name}" for name in ("objectives", "optimizers", "transforms")}
    assert groups == registries().keys() | of_choices
    assert ENTRIES.keys() == groups - of_choices - {"dragoman.families"}
    assert all(registries()[group].added() == [*entries] for group, entries in ENTRIES.items())


def test_a_metric(dragoman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "new").write_text("a b\nc\n", encoding="utf-8")
    (tmp_path / "test").write_text("b a\nc d\n", encoding="utf-8")
    told = dragoman(
        "evaluate", tmp_path / "new", tmp_path / "test", "--metric", "same_length", "--json"
    )
    assert json.loads(told.out)["scores"][0]["value"] == 50


def test_a_tracker(config: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    run = tmp_path / "run"
    steps = ("--set", "training.max_steps=4")
    assert dragoman("train", config, "--run", run, *steps, "--log", "diary").code == 0
    lines = (run / "diary.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split(":")[0] for line in lines] == ["step 2", "step 4", "step 4", "step 4"]
    assert "training/nll " in lines[0] and "scores/news/chrf " in lines[-1]


def test_documents(trained: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "settings.ini"
    path.write_bytes(b"; seven\r\n[seven]\r\nday = seven\r\nsize=5\r\n")
    assert dragoman("translate", trained, path).code in UNLEARNED
    written = (tmp_path / "settings.de.ini").read_bytes()
    assert re.fullmatch(rb"; seven\r\n\[seven\]\r\nday = [^\r\n]*\r\nsize=5\r\n", written)


def test_an_importer_and_an_exporter(trained: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    there, again = tmp_path / "numpy", tmp_path / "again"
    told = dragoman("export", trained, "--to", "numpy", "--output", there)
    assert told.code == 0 and "tensors, as NumPy reads them: largest difference 0.0e+00" in told.out
    told = dragoman("import", there, "--output", again)
    assert told.code == 0 and "from NumPy" in told.out
    before, after = (read_weights(one / WEIGHTS_FILE) for one in (trained / "model", again))
    assert before.keys() == after.keys()
    assert all(before[name].equal(after[name]) for name in before)
    assert "marian|numpy]" in dragoman("export", "--help").out
    assert "'numpy'" in one_error(dragoman("import", there, "--from", "x", "--output", again), 2)


def test_a_language_identifier(dragoman: CommandLine) -> None:
    told = dragoman(
        *("classify", "--py3langid", "en,el,ru", "--identifier", "script", "--labels"),
        stdin="door\nπόρτα\nдверь\n".encode(),
    )
    assert told.out == "en\nel\nru\n"
    line = one_error(
        dragoman("classify", "--py3langid", "en,de", "--identifier", "script", stdin=b"a\n"), 2
    )
    assert "the identifier script does not know it; it knows el, en, ru" in line


def test_a_sentence_splitter(
    trained: Path, dragoman: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided: list[list[str]] = []

    def noted(text: str, *options: Any) -> Any:
        spans = split_text(text, *options)
        divided.append([text[slice(*span)] for span in spans])
        return spans

    monkeypatch.setattr("dragoman.translation.service.text_jobs.split_text", noted)
    path = tmp_path / "letter.txt"
    path.write_text("one hundred euros; the third day; seven\n", encoding="utf-8")
    assert dragoman("translate", trained, path, "--splitter", "semicolons").code in UNLEARNED
    assert divided == [["one hundred euros;", "the third day;", "seven"]]


def test_an_engine(trained: Path, dragoman: CommandLine) -> None:
    text = "\n".join(LINES).encode()
    usual = dragoman("translate", trained, stdin=text)
    told = dragoman("translate", trained, "--engine", "timed", stdin=text)
    assert told.out == usual.out
    assert re.search(r"^3 lines in \d\.\d{3} s$", told.err, re.MULTILINE)
    both = dragoman("translate", trained, trained, "--engine", "timed", stdin=text)
    assert "engine timed gets one model" in one_error(both, 2)
    refused = one_error(dragoman("translate", trained, "--engine", "x", stdin=text), 2)
    assert "'auto', 'pytorch', 'ctranslate2', 'timed'" in refused


@pytest.mark.exhaustive
def test_pip_builds_and_installs_it(tmp_path: Path) -> None:
    write_package(tmp_path / "source")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site)]
    command += ["--no-deps", "--no-index", "--no-build-isolation", str(tmp_path / "source")]
    subprocess.run(command, check=True)
    named = f"import sys; sys.path.insert(0, {str(site)!r}); from dragoman.saved.engine_names "
    named += "import ENGINES; print(ENGINES.find('timed').__module__)"
    found = subprocess.run(
        [sys.executable, "-c", named], check=True, capture_output=True, text=True
    )
    assert found.stdout == "doors.engine\n"
