from __future__ import annotations

import pytest
from distribution import (
    Wrong,
    check_client,
    check_source,
    check_wheel,
    for_elsewhere,
)

PAGES = "https://host/dragoman/blob/v1"
README = """See [docs](docs/a.md#b), [this](#here) and [that](https://host/x).
![curve](docs/a.svg)
```
[no](link)
```
"""
COMMITTED = {
    "LICENSE": b"free",
    "CHANGELOG.md": b"## [1.2.0]",
    "README.md": b"See [docs](docs/a.md)",
    "pyproject.toml": b'[project]\nversion = "1.2.0"\n',
    "src/dragoman/core/version.py": b'__version__ = "1.2.0"\n',
    "src/dragoman/py.typed": b"",
    "recipes/deep/base.yaml": b"seed: 1",
    "src/dragoman/workflows/reports/templates/page.html": b"<p>",
}
INFO = "dragoman-1.2.0.dist-info"
WHEEL = {
    **{name[4:]: text for name, text in COMMITTED.items() if name.startswith("src/")},
    "dragoman/recipes/deep/base.yaml": b"seed: 1",
    f"{INFO}/METADATA": b"Version: 1.2.0\n\nSee docs",
    f"{INFO}/licenses/LICENSE": b"free",
    f"{INFO}/entry_points.txt": b"[console_scripts]\ndragoman = dragoman.cli.main:main\n",
}


def test_links_lead_to_the_pages_or_are_plain_text() -> None:
    here, code = "[this](#here) and [that](https://host/x).", "```\n[no](link)\n```\n"
    assert for_elsewhere(README, PAGES + "/") == (
        f"See [docs]({PAGES}/docs/a.md#b), {here}\n"
        f"![curve](https://host/dragoman/raw/v1/docs/a.svg)\n{code}"
    )
    assert for_elsewhere(README, "") == f"See docs, {here}\n\n{code}"


def test_a_whole_wheel_passes() -> None:
    check_wheel(WHEEL, COMMITTED)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dragoman/py.typed": None}, "wheel lacks 1 files: dragoman/py.typed"),
        ({"dragoman/recipes/deep/base.yaml": None}, "lacks 1 files: dragoman/recipes/deep"),
        (
            {"dragoman/workflows/reports/templates/page.html": None},
            "lacks 1 files: dragoman/workflows/reports/templates",
        ),
        ({"dragoman/mine.py": b""}, "has, though it is not committed, 1 files: dragoman/mine.py"),
        ({"tests/test_x.py": b""}, "has, though it is not committed, 1 files: tests/test_x.py"),
        ({"dragoman/core/version.py": b"x"}, "in another version than the working tree 1 files"),
        ({f"{INFO}/licenses/LICENSE": None}, "it has no LICENSE"),
        ({f"{INFO}/entry_points.txt": None}, "it has no command dragoman"),
        ({f"{INFO}/METADATA": b"Version: 1.3.0\n\n"}, "versions differ: 1.3.0 and 1.2.0, 1.2.0"),
        ({f"{INFO}/METADATA": b"Version: 1.2.0\n\n[a](b.md)"}, "files that are not there: b.md"),
    ],
)
def test_what_is_wrong_with_a_wheel_is_said(changes: dict[str, bytes | None], message: str) -> None:
    found = {n: c for n, c in {**WHEEL, **changes}.items() if c is not None}
    with pytest.raises(Wrong, match=message):
        check_wheel(found, COMMITTED)


def test_a_release_has_a_section_in_the_changelog() -> None:
    with pytest.raises(Wrong, match=r"no section \[1.2.0\]"):
        check_wheel(WHEEL, {**COMMITTED, "CHANGELOG.md": b"## [1.1.0]"})


def test_a_source_distribution_has_all_but_what_is_of_the_repository() -> None:
    committed = {**COMMITTED, ".gitignore": b""}
    found = {**COMMITTED, "README.md": b"See docs", "PKG-INFO": b"", "src/dragoman.egg-info/x": b""}
    check_source(found, committed)
    del found["CHANGELOG.md"]
    with pytest.raises(Wrong, match="source distribution lacks 1 files: CHANGELOG"):
        check_source(found, committed)


CLIENT_INFO = "dragoman_client-1.2.0.dist-info"
CLIENT_WHEEL = {
    "dragoman_client/__init__.py": b"x",
    f"{CLIENT_INFO}/licenses/LICENSE": b"free",
    f"{CLIENT_INFO}/entry_points.txt": b"dragoman-client = dragoman_client.command:main\n",
}
CLIENT_SOURCE = {"src/dragoman_client/__init__.py": b"x", "pyproject.toml": b"", "LICENSE": b"free"}


def test_a_whole_client_passes() -> None:
    check_client(CLIENT_WHEEL, CLIENT_SOURCE, COMMITTED)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dragoman/client/__init__.py": b"x"}, "dragoman/client/__init__.py does not belong"),
        ({f"{CLIENT_INFO}/licenses/LICENSE": None}, "it has no LICENSE"),
        ({f"{CLIENT_INFO}/entry_points.txt": None}, "it has no command dragoman-client"),
        ({"dragoman_client/__init__.py": b"y"}, "source of the client has in another version"),
        ({"dragoman_client/more.py": b"y"}, "source of the client lacks 1 files"),
    ],
)
def test_what_is_wrong_with_a_client_is_said(
    changes: dict[str, bytes | None], message: str
) -> None:
    wheel = {n: c for n, c in {**CLIENT_WHEEL, **changes}.items() if c is not None}
    with pytest.raises(Wrong, match=message):
        check_client(wheel, CLIENT_SOURCE, COMMITTED)
