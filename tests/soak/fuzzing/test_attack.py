"""The frame of fuzzing notices tracebacks, hangs, memory, death, and messages nobody can read."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import replace
from mmap import mmap
from pathlib import Path
from random import Random

import pytest
import torch

from dragoman.core.errors import DataError
from soak.fuzzing.attack import Attack, damaged_inputs
from soak.fuzzing.mutations import changed, damaged, with_other_value
from soak.fuzzing.target import Bounds, Hostile, Target
from soak.fuzzing.trying import try_each

BOUNDS = Bounds(seconds=0.1, seconds_per_mebibyte=0, mebibytes=32, waiting=1.0)
PATIENT = replace(BOUNDS, seconds=10.0)


def fail(hostile: Hostile) -> None:
    """Does what an input says."""
    match hostile.content:
        case b"refuse":
            raise DataError("line 1: not a number; correct it")
        case b"long":
            raise DataError("a" * 9000)
        case b"silent":
            raise DataError(" ")
        case b"bug":
            raise KeyError("bug")
        case b"hang":
            while True:
                pass
        case b"regex":
            re.match("(a+)+$", "a" * 40 + "b")  # in C, where no handler of Python's runs
        case b"wait":
            time.sleep(60)
        case b"memory":
            # Of the system itself: the C library may have kept as much that is free.
            taken = mmap(-1, 64 * 2**20)
            for page in range(0, len(taken), 4096):
                taken[page] = 1
        case b"huge":
            bytes(2**40)
        case b"die":
            os.abort()


def target(
    call: Callable[[Hostile], object] = fail, seed: bytes = b"fine", **more: object
) -> Target:
    return Target("fake", call, [Hostile("a", seed)], bounds=BOUNDS, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "kind", "place"),
    [
        ("fine", "accepted", ""),
        ("refuse", "refused", ""),
        ("long", "error", "an endless message in test_attack.py:fail"),
        ("silent", "error", "an empty message in test_attack.py:fail"),
        ("bug", "error", "KeyError in test_attack.py:fail"),
        ("memory", "memory", "accepted after growing too far"),
        ("huge", "memory", "MemoryError in test_attack.py:fail"),
    ],
)
def test_what_becomes_of_an_input_is_told(
    tmp_path: Path, content: str, kind: str, place: str
) -> None:
    patient = replace(target(), bounds=PATIENT)  # a busy machine takes long to hand out memory
    (outcome,) = try_each(patient, [Hostile("a", content.encode())], tmp_path)
    assert (outcome.kind, outcome.place) == (kind, place)


def test_a_child_computes_although_its_parent_has_threads(tmp_path: Path) -> None:
    def compute(_: Hostile) -> None:
        torch.ones(1000, 1000).softmax(1)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        compute(Hostile("a", b""))
        patient = replace(target(compute), bounds=replace(PATIENT, mebibytes=1000))
        (outcome,) = try_each(patient, [Hostile("a", b"")], tmp_path)
    finally:
        torch.set_num_threads(before)
    assert outcome.kind == "accepted", outcome.place


def test_what_ends_its_process_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    contents = b"fine", b"hang", b"fine", b"regex", b"die", b"wait", b"refuse"
    inputs = [Hostile("a", one) for one in contents]
    found = list(try_each(target(), inputs, tmp_path))
    kinds = ["accepted", "slow", "accepted", "slow", "died", "slow", "refused"]
    assert [one.kind for one in found] == kinds
    assert "in fail" in found[1].detail
    assert found[5].place.startswith("waiting")
    assert "SIGABRT" in found[4].place


def read_number(hostile: Hostile) -> int:
    """Forgets that there may be no digits, and that UTF-8 may be broken."""
    text = hostile.content.decode("ascii", "replace")
    if "x" in text:
        raise DataError("x is no digit")
    return int(text.partition("=")[2])


def test_an_attack_finds_a_defect_and_keeps_a_small_input(tmp_path: Path) -> None:
    attack = Attack(target(read_number, b"number=123456789"), 1, tmp_path)
    told = attack.run(20, most=60)
    assert told.times == 61
    (failure,) = told.failures
    assert failure.startswith("error: ValueError in test_attack.py:read_number")
    (kept,) = (path for path in tmp_path.rglob("a") if path.is_file())
    assert len(kept.read_bytes()) <= 1
    assert f"--input {kept}" in failure


def test_a_target_that_refuses_good_input_is_a_failure(tmp_path: Path) -> None:
    told = Attack(target(seed=b"refuse"), 1, tmp_path).run(0)
    assert "the good input a is refused" in told.failures[0]
    assert Attack(target(seed=b"refuse", refused_seeds=True), 1, tmp_path).run(0).failures == ()


def test_bombs_that_there_is_no_time_for_are_told(tmp_path: Path) -> None:
    bombs = [Hostile("a", b"bug")] * 9
    none = Attack(target(bombs=bombs), 1, tmp_path).run(0)
    assert (none.times, none.figures["bombs"], len(none.failures)) == (2, "1 of 9", 1)
    some = Attack(target(bombs=bombs), 1, tmp_path).run(20, most=0)
    assert (some.times, some.figures["bombs"]) == (10, "9 of 9")


def test_damage_is_a_function_of_the_seed_and_differs() -> None:
    def first(seed: int) -> list[Hostile]:
        stream = damaged_inputs(target(seed=b'{"a": [1, 2, {"b": "c"}]}'), seed)
        return [next(stream) for _ in range(50)]

    assert first(1) == first(1)
    assert first(1) != first(2)
    assert len({one.content for one in first(1)}) > 40


def test_every_kind_of_damage_keeps_within_its_bound() -> None:
    for number in range(20):
        found = changed(b"abc\n" * 250_000, [b"token"], Random(number))
        assert len(found) <= 2**20


def test_json_and_zip_files_are_damaged_inside(tmp_path: Path) -> None:
    from soak.fuzzing.targets.document_files import TARGETS

    docx = TARGETS["docx"](tmp_path)
    whole = [damaged(docx, Random(number)).content for number in range(20)]
    assert sum(one.startswith(b"PK\x03\x04") for one in whole) > 10
    values = [with_other_value({"a": [1, {"b": 2}]}, Random(number)) for number in range(50)]
    inner = [one["a"] for one in values if isinstance(one, dict) and "a" in one]
    assert sum(isinstance(one, list) and one != [1, {"b": 2}] for one in inner) > 10
