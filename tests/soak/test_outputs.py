"""Records of outputs: what differs is found, and what a clock measured is not compared."""

from __future__ import annotations

from pathlib import Path

from soak.outputs.comparison import differences
from soak.outputs.documents import contents, unzipped
from soak.outputs.masks import masked


def _written(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def test_equal_records_have_no_differences(tmp_path: Path) -> None:
    files = {"a/b.txt": "one\ntwo\n", "c.txt": "three\n"}
    old, new = (_written(tmp_path / name, files) for name in ("old", "new"))
    assert list(differences(old, new)) == []


def test_files_that_are_missing_more_or_changed_are_named(tmp_path: Path) -> None:
    old = _written(tmp_path / "old", {"a/b.txt": "one\ntwo\nthree\n", "gone.txt": ""})
    new = _written(tmp_path / "new", {"a/b.txt": "one\n2\nthree\n", "more.txt": ""})
    changed, gone, more = differences(old, new)
    assert changed.splitlines() == ["a/b.txt: differs", "@@ -2 +2 @@", "-two", "+2"]
    assert gone == f"gone.txt: only in {old}"
    assert more == f"more.txt: only in {new}"


def test_a_file_that_differs_in_invisible_ends_of_lines_is_named(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    (tmp_path / "old" / "a").write_bytes(b"one\n")
    (tmp_path / "new" / "a").write_bytes(b"one\r\n")
    assert list(differences(tmp_path / "old", tmp_path / "new")) == ["a: differs"]


def test_many_changed_lines_are_counted(tmp_path: Path) -> None:
    old = _written(tmp_path / "old", {"a": "".join(f"{n}\n" for n in range(50))})
    new = _written(tmp_path / "new", {"a": ""})
    (found,) = differences(old, new, lines=3)
    assert found.splitlines()[-1] == "... 48 more lines"


def test_times_and_places_become_placeholders_and_results_stay() -> None:
    text = "/tmp/x/run: step 4, loss 5.413692517227002, 1,204 target tokens/s, 5 seconds left"
    assert masked(text, {"/tmp/x": "FOLDER"}) == (
        "FOLDER/run: step 4, loss 5.413692517227002, N target tokens/s, N seconds left"
    )
    line = '{"loss": 5.413692517227002, "seconds": 0.7, "in": [{"date": "x"}]}\n'
    assert masked(line, {}) == (
        '{"loss": 5.413692517227002, "seconds": MEASURED, "in": [{"date": MEASURED}]}\n'
    )


def test_documents_are_the_same_whenever_they_are_made() -> None:
    assert contents() == contents()
    office = contents()["a.docx"]
    assert isinstance(office, bytes)
    assert "hundred" in unzipped(office)
