"""From any format that is read to any that is written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from command_line import CommandLine, one_error

TMX = """<tmx version="1.4"><body>
<tu><tuv xml:lang="en-US"><seg>one</seg></tuv><tuv xml:lang="de"><seg>eins\tzwei</seg></tuv></tu>
</body></tmx>"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in {
        "many.tsv": "id\ten\tde\n1\tone\teins\n2\t\tzwei\n",
        "a.jsonl": '{"translation": {"en": "one", "de": "eins"}}\n',
        "texts.jsonl": '{"a": {"text": "one"}, "b": {"text": "eins"}}\n',
        "a.po": 'msgid ""\nmsgstr "Language: ko\\n"\n\nmsgid "Save"\nmsgstr "저장"\n',
        "a.tmx": TMX,
        "train.en": "one\n\n",
        "train.de": "eins\nzwei\n",
        "other": "x\n",
    }.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Path("dangling.tsv").symlink_to("nowhere.tsv")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ("many.tsv out.tsv", {"out.tsv": "en\tde\none\teins\n\tzwei\n"}),
        ("many.tsv out.tsv --source de --target en", {"out.tsv": "de\ten\neins\tone\nzwei\t\n"}),
        ("many.tsv new/b.en new/b.de", {"new/b.en": "one\n\n", "new/b.de": "eins\nzwei\n"}),
        ("train.de train.en out.tsv", {"out.tsv": "de\ten\neins\tone\nzwei\t\n"}),
        ("a.jsonl out.tsv", {"out.tsv": "en\tde\none\teins\n"}),
        ("texts.jsonl out.tsv", {"out.tsv": "a.text\tb.text\none\teins\n"}),
        ("a.po out.jsonl", {"out.jsonl": '{"en": "Save", "ko": "저장"}\n'}),
        ("a.po out.jsonl --names s t", {"out.jsonl": '{"s": "Save", "t": "저장"}\n'}),
        ("a.tmx out.jsonl", {"out.jsonl": '{"en-US": "one", "de": "eins\\tzwei"}\n'}),
        ("a.jsonl b c --output-format plain", {"b": "one\n", "c": "eins\n"}),
        ("a.jsonl b.tsv c.tsv --output-format plain", {"b.tsv": "one\n", "c.tsv": "eins\n"}),
    ],
)
def test_conversions(arguments: str, written: dict[str, str], dragoman: CommandLine) -> None:
    outcome = dragoman("convert", *arguments.split())
    assert outcome.code == 0, outcome.err
    assert outcome.out == ""
    assert "pairs of" in outcome.err
    assert {name: Path(name).read_text(encoding="utf-8") for name in written} == written


PO = 'msgid ""\nmsgstr "Language: de\\n"\n'


def test_what_a_reviewer_changed(folder: Path, dragoman: CommandLine) -> None:
    machine = f'{PO}\nmsgid "Save"\nmsgstr "Sichern"\n' + "".join(
        f'\n#, fuzzy\nmsgid "{one}"\nmsgstr "{other}"\n'
        for one, other in (("Open", "Öffnen"), ("Close", "Nah"), ("Edit", "Ändern"))
    )
    reviewed = machine.replace('#, fuzzy\nmsgid "Open"', 'msgid "Open"')
    reviewed = reviewed.replace(
        '#, fuzzy\nmsgid "Close"\nmsgstr "Nah"', 'msgid "Close"\nmsgstr "Zu"'
    )
    for name, content in (("before", machine), ("after", reviewed)):
        path = folder / name / "locale" / "de" / "LC_MESSAGES" / "app.po"
        path.parent.mkdir(parents=True)
        path.write_text(content, encoding="utf-8")
    file = Path("locale", "de", "LC_MESSAGES", "app.po")
    for path, output in ((file, "a.tsv"), (Path("locale"), "b.tsv")):
        outcome = dragoman("convert", "after" / path, output, "--changed-from", "before" / path)
        assert outcome.code == 0, outcome.err
        assert Path(output).read_text(encoding="utf-8") == "en\tde\nClose\tZu\n"
    nothing = dragoman("convert", "before" / file, "c.tsv", "--changed-from", "after" / file)
    assert "no pair has changed" in one_error(nothing, 3)
    assert not Path("c.tsv").exists()


def test_results_for_scripts(folder: Path, dragoman: CommandLine) -> None:
    outcome = dragoman("convert", folder / "many.tsv", folder / "out.tsv.gz", "--json", "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) == {
        "output": [str(folder / "out.tsv.gz")],
        "format": "tsv",
        "sides": ["en", "de"],
        "pairs": 2,
    }
    text = gzip.decompress((folder / "out.tsv.gz").read_bytes())
    assert text == b"en\tde\none\teins\n\tzwei\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_is_written_to(dragoman: CommandLine) -> None:
    Path("full.tsv.gz").symlink_to("/dev/full")
    outcome = dragoman("convert", "many.tsv", "full.tsv.gz")
    assert "full.tsv.gz: the disk is full" in one_error(outcome, 6)
    outcome = dragoman("convert", "many.tsv", "/dev/null", "--output-format", "jsonl")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("many.tsv", 2, "name the input and then the output"),
        ("many.tsv out.txt", 2, "name the input and then the output"),
        ("many.tsv a.jsonl out.txt", 2, "name the input and then the output"),
        ("train.en train.de", 2, "name the input and then the output"),
        ("train.en out.tsv", 2, "train.en: its suffix does not determine its format"),
        ("many.tsv a.jsonl", 2, "a.jsonl: exists already"),
        ("many.tsv dangling.tsv", 2, "dangling.tsv: exists already"),
        ("many.tsv train.en train.fr", 2, "train.en: exists already"),
        ("many.tsv b.en b.en", 2, "b.en: named for both sides"),
        ("many.tsv out.tmx", 2, "out.tmx: files of the format tmx are read and not written"),
        ("many.tsv out --output-format tvs", 2, "no format 'tvs'; did you mean 'tsv'?"),
        ("many.tsv b.en b.de --names x y", 2, "--names: a plain file has no names for its sides"),
        ("many.tsv out.tsv --names x x", 2, "both sides would be called 'x'"),
        ("many.tsv out.tsv --source fr", 2, "it has id, en, de"),
        ("none.tsv out.tsv", 3, "none.tsv: no such file"),
        ("other train.de out.tsv --source x", 3, "train.de has 2; a line and its translation"),
        ("a.tmx out.tsv", 3, "the target of the pair of line 1 has a tab"),
    ],
)
def test_errors_leave_nothing_behind(
    arguments: str, code: int, said: str, folder: Path, dragoman: CommandLine
) -> None:
    before = {path.name: path.exists() and path.read_bytes() for path in folder.iterdir()}
    assert said in one_error(dragoman("convert", *arguments.split()), code)
    after = {path.name: path.exists() and path.read_bytes() for path in folder.iterdir()}
    assert after == before
