"""The part ``supply``: what Dragoman is made of, its licences, known weaknesses and digests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from soak.dependencies import Dependency, dependencies
from soak.locking import install_from_lock, write_lock
from soak.part import Allowance, Tried

ROOT = Path(__file__).parents[1]


class Supply:
    """Licences by rule, known weaknesses, a bill of materials, and an installation by digests."""

    about = "dependencies: licences, known weaknesses, bill of materials, locked installation"
    share = 0.05

    def run(self, allowance: Allowance) -> list[Tried]:
        """Each once; those that need an index are skipped where it does not answer."""
        found = dependencies()
        return [
            licences(found),
            known_weaknesses(found, allowance),
            bill_of_materials(allowance.folder),
            locked_installation(allowance),
        ]


def licences(found: list[Dependency]) -> Tried:
    """Each package against the rule, and against what docs/dependencies.md says of it."""
    written = (ROOT / "docs/dependencies.md").read_text("utf-8")
    failures = [
        f"{one.name} {one.version}: the licence {one.licence} is not allowed"
        for one in found
        if not one.allowed
    ]
    failures += [
        f"docs/dependencies.md lacks {one.name}: python -m soak.dependencies prints the tables"
        for one in found
        if f"| {one.name} |" not in written and f"| **{one.name}** |" not in written
    ]
    return Tried("licences of dependencies", len(found), failures=tuple(failures))


def known_weaknesses(found: list[Dependency], allowance: Allowance) -> Tried:
    """What pip-audit knows of the installed versions."""
    what = "known weaknesses"
    listed = allowance.folder / "installed.txt"
    listed.write_text("".join(f"{one.name}=={one.version.split('+')[0]}\n" for one in found))
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(listed), "--no-deps"]
    command += ["--disable-pip", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=max(60, allowance.left), check=False
        )
        packages = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError) as error:
        return Tried(what, 0, skipped=f"pip-audit had no answer ({type(error).__name__})")
    asked = [package for package in packages if "vulns" in package]
    failures = tuple(
        f"{package['name']} {package['version']}: {one['id']}, mended in {one['fix_versions']}"
        for package in asked
        for one in package["vulns"]
    )
    if not asked:
        return Tried(what, 0, skipped="the index answers for no package")
    return Tried(what, len(asked), failures=failures)


def bill_of_materials(folder: Path) -> Tried:
    """A bill of this environment in CycloneDX's format, valid by its own check."""
    path = folder / "bill-of-materials.json"
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--validate"]
    done = subprocess.run(
        [*command, "--output-reproducible", "--output-file", str(path), sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return Tried("bill of materials", 1, failures=(done.stderr[-500:],))
    components = len(json.loads(path.read_text("utf-8"))["components"])
    return Tried("bill of materials", 1, {"packages": components})


def locked_installation(allowance: Allowance) -> Tried:
    """The packages of every installation, by their digests; one wrong digest must be refused."""
    what = "locked installation"
    lock = allowance.folder / "requirements.lock"
    try:
        packages = write_lock(ROOT, lock, extras=())
    except subprocess.CalledProcessError as error:
        return Tried(what, 0, skipped=f"no index answers: {error.stderr[-200:]}")
    failures = []
    if (done := install_from_lock(lock)).returncode:
        failures.append(f"the lock does not install: {done.stderr[-500:]}")
    text = lock.read_text("utf-8")
    place = text.index("sha256:") + len("sha256:")
    wrong = "0" if text[place] != "0" else "1"
    changed = allowance.folder / "changed.lock"
    changed.write_text(text[:place] + wrong + text[place + 1 :], encoding="utf-8")
    if install_from_lock(changed).returncode == 0:
        failures.append("a wrong digest was taken")
    return Tried(what, 2, {"packages": packages}, failures=tuple(failures))


PART = Supply()
