"""Mutation tests: change the code in one place, run the tests of its room, list what they miss.

    make mutants SAMPLE=300 SEED=1 JOBS=2

Cosmic Ray knows the places and what to put there; :class:`SkippedCall` and
:class:`SkippedStatement` add what it lacks.  Places are drawn evenly, and one change for each of
them.  All work is done in copies of the tracked files under ``build/mutants``, so the working tree
stays as it is.  Results are kept there: the same call goes on after an interruption, and once the
tests have changed it tries the survivors again.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import chain
from multiprocessing import current_process
from pathlib import Path

import parso
from attrs import evolve
from cosmic_ray import plugins
from cosmic_ray.commands.init import _all_work_items
from cosmic_ray.mutating import mutate_and_test, mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.testing import run_tests
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkItem, WorkResult

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "mutants"
PACKAGE = Path("src/dragoman")
ROOMS = ("training", "search", "models", "data")
BESIDES = ("tests/test_gradients.py", "tests/test_recipes.py", "tests/cli/test_reference.py")
"""Tests of all rooms: backward passes, the papers' constants, what the manual says of settings."""

_ARITHMETIC, _BITS, _SHIFTS = "Add|Sub|Mul|Div|FloorDiv|Mod|Pow", "BitOr|BitAnd|BitXor", "[LR]Shift"
_LIKELY = re.compile(
    "|".join(f"ReplaceBinaryOperator_({k})_({k})$" for k in (_ARITHMETIC, _BITS, _SHIFTS))
)
"""Binary operators that can stand for one another; others fail in every test that comes by."""


class SkippedCall(Operator):
    """``f(x)`` to ``x``, such as dropout, a normalisation or a mask that is forgotten.

    Built-in functions are spared: they convert, often to what is there already.
    """

    def mutation_positions(self, node: parso.tree.NodeOrLeaf) -> Iterator[tuple[object, object]]:
        """Calls with one positional argument."""
        if node.type != "atom_expr" or node.children[-1].type != "trailer":
            return
        name, call = node.children[0], node.children[-1].children
        built_in = len(node.children) == 2 and hasattr(builtins, getattr(name, "value", ""))
        simple = len(call) == 3 and call[1].type not in {"argument", "arglist"}
        if call[0].value == "(" and simple and not built_in:
            yield node.start_pos, node.end_pos

    def mutate(self, node: parso.tree.NodeOrLeaf, index: int) -> parso.tree.NodeOrLeaf:
        """The argument in brackets."""
        argument = node.children[-1].children[1].get_code().strip()
        alone = parso.parse(f"({argument})").children[0]
        alone.get_first_leaf().prefix = node.get_first_leaf().prefix
        return alone

    @classmethod
    def examples(cls) -> tuple[object, ...]:
        return ()


class SkippedStatement(Operator):
    """A call that stands alone, such as ``optimizer.clear()``, to ``pass``."""

    def mutation_positions(self, node: parso.tree.NodeOrLeaf) -> Iterator[tuple[object, object]]:
        """Calls whose result nobody takes."""
        if node.type == "atom_expr" and node.parent.type == "simple_stmt":
            yield node.start_pos, node.end_pos

    def mutate(self, node: parso.tree.NodeOrLeaf, index: int) -> parso.tree.NodeOrLeaf:
        """Nothing is done."""
        return parso.python.tree.Keyword(
            "pass", node.start_pos, prefix=node.get_first_leaf().prefix
        )

    @classmethod
    def examples(cls) -> tuple[object, ...]:
        return ()


plugins.OPERATOR_PROVIDERS["skipped"] = {"Call": SkippedCall, "Statement": SkippedStatement}


class _Meaning(ast.NodeTransformer):
    """Takes out what tests need not see: annotations, frozenness and the words of errors."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        unseen = ("overload", "abstractmethod")
        node.decorator_list = [d for d in node.decorator_list if ast.unparse(d) not in unseen]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        return None if node.arg == "frozen" else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = None
        return self.generic_visit(node)


def _meaning(code: str) -> str | None:
    """What the code does; None if it is not Python."""
    try:
        return ast.dump(_Meaning().visit(ast.parse(code)))
    except SyntaxError:
        return None


def _sample(count: int, seed: int) -> list[WorkItem]:
    """One mutant at each of so many places, drawn evenly from all places of the rooms."""
    os.chdir(ROOT)
    paths = sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py"))
    places: dict[tuple[Path, tuple[int, int]], list[WorkItem]] = defaultdict(list)
    for item in _all_work_items(paths, {}):
        (spec,) = item.mutations
        name = spec.operator_name.partition("/")[2]
        if not name.startswith("ReplaceBinaryOperator") or _LIKELY.match(name):
            places[spec.module_path, spec.start_pos].append(item)
    rng = random.Random(seed)
    chosen: list[WorkItem] = []
    for place in rng.sample(sorted(places), len(places)):
        item = rng.choice(places[place])
        if len(chosen) < count and _changes_meaning(item):
            chosen.append(item)
    return chosen


def _changes_meaning(item: WorkItem) -> bool:
    (spec,) = item.mutations
    code = spec.module_path.read_text(encoding="utf-8")
    mutated = mutate_code(code, plugins.get_operator(spec.operator_name)(), spec.occurrence)
    return mutated is not None and _meaning(mutated) not in (None, _meaning(code))


def _digest(paths: Iterable[Path]) -> str:
    """Of the content of all Python files below some directories."""
    files = sorted(chain.from_iterable(path.rglob("*.py") for path in paths))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]


def _command(room: str, module: str = "") -> str:
    """Runs the tests of a room and ends at the first that fails; the likeliest come first.

    These are those of the module, those that name it, and the truths that all families must pass.
    """
    tests = [*Path("tests", room).rglob("test_*.py"), *map(Path, BESIDES)]

    def unlikely(test: Path) -> tuple[bool, bool, bool, str]:
        named = bool(module) and re.search(rf"\b{module}\b", test.read_text(encoding="utf-8"))
        return test.stem != f"test_{module}", not named, test.stem != "test_families", str(test)

    options = "-x -q --no-header --tb=line --timeout 60"
    files = " ".join(map(str, sorted(tests, key=unlikely)))
    return f"{sys.executable} -m pytest {options} {files}"


def _room(item: WorkItem) -> str:
    return item.mutations[0].module_path.relative_to(PACKAGE).parts[0]


def _enter_copy() -> None:
    """Let this worker process live in a copy of the tracked files."""
    copy = BUILD / current_process().name
    shutil.rmtree(copy, ignore_errors=True)
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}


def _baseline(room: str) -> tuple[str, float]:
    """Seconds of a room's tests; without a mutant they must pass."""
    started = time.monotonic()
    outcome, output = run_tests(_command(room), timeout=1800)
    if outcome is not TestOutcome.SURVIVED:
        raise SystemExit(f"tests/{room} fails without a mutant:\n{output}")
    return room, time.monotonic() - started


def _try(item: WorkItem, timeout: float) -> WorkResult:
    (spec,) = item.mutations
    return mutate_and_test([spec], _command(_room(item), spec.module_path.stem), timeout)


def _pending(session: WorkDB, tests: str) -> list[WorkItem]:
    """What was not tried yet, and what survived other tests than these."""
    survivors = [item for item, result in _survivors(session) if result.output != tests]
    return [*session.pending_work_items, *survivors]


def _survivors(session: WorkDB) -> list[tuple[WorkItem, WorkResult]]:
    results = session.completed_work_items
    return [(item, result) for item, result in results if not result.is_killed]


def _run(session: WorkDB, jobs: int) -> None:
    tests = _digest([ROOT / "tests"])
    pending = _pending(session, tests)
    with ProcessPoolExecutor(jobs, initializer=_enter_copy) as pool:
        rooms = sorted({_room(item) for item in pending})
        seconds = dict(pool.map(_baseline, rooms))
        # A mutant may well make tests slower, and other work may slow down both.
        tried = {pool.submit(_try, item, 60 + 4 * seconds[_room(item)]): item for item in pending}
        for number, future in enumerate(as_completed(tried), start=1):
            result = future.result()
            if not result.is_killed:
                result = evolve(result, output=tests)
                print(_described(tried[future], result))
            session.set_result(tried[future].job_id, result)
            print(f"{number} of {len(pending)}: {result.test_outcome.value}", flush=True)


def _report(session: WorkDB) -> None:
    survivors = _survivors(session)
    print("\nWhat no test noticed:")
    print(*sorted(_described(*survivor) for survivor in survivors), sep="\n")
    tried = session.num_results
    killed = tried - len(survivors)
    print(f"{killed} of {tried} mutants killed ({killed / tried:.1%})")


def _described(item: WorkItem, result: WorkResult) -> str:
    """File and line, then the line before and after."""
    (spec,) = item.mutations
    changed = re.findall(r"^[-+] .*", result.diff or "", re.MULTILINE)
    return "\n".join([f"{spec.module_path}:{spec.start_pos[0]}", *changed, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="which of all that there are")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tried at a time")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    code = _digest(ROOT / PACKAGE / room for room in ROOMS)
    with use_db(BUILD / f"{code}-sample-{options.sample}-seed-{options.seed}.sqlite") as session:
        if not session.num_work_items:
            session.add_work_items(_sample(options.sample, options.seed))
        _run(session, options.jobs)
        _report(session)


if __name__ == "__main__":
    main()
