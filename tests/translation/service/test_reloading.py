from __future__ import annotations

import asyncio
import os
import shutil
import threading
from pathlib import Path

import pytest
from tiny_model import save_tiny_model

from dragoman.saved.system import TranslationSystem
from dragoman.text.examples import Direction
from dragoman.translation.service.interface import Pairing, RefusedError, TextRequest
from dragoman.translation.service.loaded_system import LoadedSystem
from dragoman.translation.service.model_service import ModelService, ServiceOptions
from dragoman.translation.service.reloading import identity, keep_looking

LINES = ["a b c d e", "e d c", "b a", "c c d", "e a", "d"]


def save(path: Path, seed: int, target: str = "de") -> Path:
    directions = (Direction(source_language="en", target_language=target),)
    return save_tiny_model(path, seed=seed, directions=directions)


def described(path: Path) -> TranslationSystem:
    return TranslationSystem(models=(path,), device="cpu")


def requests(target: str = "de") -> list[TextRequest]:
    return [TextRequest(line, target, "en") for line in LINES]


def test_a_model_is_exchanged_while_requests_are_in_flight(tmp_path: Path) -> None:
    path = save(tmp_path / "model", seed=1)

    async def main() -> None:
        async with await ModelService.open(
            [described(path)], ServiceOptions(reload_seconds=0)
        ) as service:
            before = [one.text for one in await service.translate(requests())]
            save(path, seed=2)
            await service.look()
            assert service.status().systems[0].reloads == 0  # it may still be being copied
            flying = [asyncio.ensure_future(service.translate(requests())) for _ in range(6)]
            await asyncio.gather(service.look(), *flying)
            assert service.status().systems[0].reloads == 1
            after = [one.text for one in await service.translate(requests())]
            assert before != after
            for one in flying:
                assert [text.text for text in one.result()] in (before, after)
            await service.look()
            assert service.status().systems[0].reloads == 1

    asyncio.run(main())


def test_what_does_not_open_is_not_served(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = save(tmp_path / "model", seed=1)

    async def main() -> None:
        async with await ModelService.open(
            [described(path)], ServiceOptions(reload_seconds=0)
        ) as service:
            before = await service.translate(requests())
            weights = path / "model.safetensors"
            served = weights.rename(tmp_path / "served")
            weights.write_bytes(served.read_bytes()[:-100])
            for _ in range(4):
                await service.look()
            assert await service.translate(requests()) == before
            problem = service.status().systems[0].problem
            assert problem is not None
            assert "truncated" in problem
            assert caplog.text.count("the old one is kept") == 1  # it is not tried again and again
            weights.rename(path / "broken")
            served.rename(weights)
            for _ in range(2):
                await service.look()
            assert (service.status().systems[0].problem, service.status().systems[0].reloads) == (
                None,
                0,
            )
            shutil.rmtree(path)
            for _ in range(3):
                await service.look()
            assert await service.translate(requests()) == before
            save(path, seed=3, target="fr")
            for _ in range(3):
                await service.look()
            assert service.status().systems[0].problem is None
            assert service.directions() == [Pairing("en", "fr")]
            await service.translate(requests("fr"))
            with pytest.raises(RefusedError, match="into 'de'"):
                await service.translate(requests())

    asyncio.run(main())


def test_a_model_that_disappears_is_reported_once_until_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = save(tmp_path / "model", seed=1)

    async def main() -> None:
        async with await ModelService.open(
            [described(path)], ServiceOptions(reload_seconds=0)
        ) as service:
            before = await service.translate(requests())
            path.rename(tmp_path / "away")
            await service.look()
            assert service.status().systems[0].problem is None  # it may just be replaced
            for _ in range(3):
                await service.look()
            assert "files are missing" in (service.status().systems[0].problem or "")
            assert caplog.text.count("files are missing") == 1
            assert str(path) in caplog.text
            assert await service.translate(requests()) == before
            (tmp_path / "away").rename(path)
            for _ in range(2):
                await service.look()
            assert service.status().systems[0].problem is None
            assert service.status().systems[0].reloads == 0
            path.rename(tmp_path / "away")
            for _ in range(2):
                await service.look()
            assert caplog.text.count("files are missing") == 2

    asyncio.run(main())


def test_it_looks_by_itself(tmp_path: Path) -> None:
    path = save(tmp_path / "model", seed=1)

    async def main() -> None:
        async with await ModelService.open(
            [described(path)], ServiceOptions(reload_seconds=0.01)
        ) as service:
            save(path, seed=2)
            for _ in range(500):
                if service.status().systems[0].reloads:
                    return
                await asyncio.sleep(0.02)
            pytest.fail("the change was not noticed")

    asyncio.run(main())


def test_looking_goes_on_after_a_failure() -> None:
    looked = []

    async def fails() -> None:
        looked.append(1)
        if len(looked) == 3:
            raise asyncio.CancelledError
        raise OSError("the disk is gone")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(keep_looking(fails, 0.001))
    assert len(looked) == 3


def test_an_identity_is_that_of_what_belongs_to_a_model(tmp_path: Path) -> None:
    path = save(tmp_path / "model", seed=1)
    first = identity(described(path))
    assert {Path(name).name for name, *_ in first} >= {"config.yaml", "model.safetensors"}
    (path / "notes.txt").write_text("of the user", encoding="utf-8")
    assert identity(described(path)) == first
    os.utime(path / "config.yaml", ns=(1, 1))
    assert identity(described(path)) != first
    assert identity(described(tmp_path / "none")) == ()


@pytest.mark.parametrize("name", ["shortlist", "confidence"])
def test_an_identity_is_that_of_files_elsewhere_too(tmp_path: Path, name: str) -> None:
    path, file = save(tmp_path / "model", seed=1), tmp_path / "file"
    file.write_bytes(b"one")
    system = described(path).model_copy(update={name: file})
    first = identity(system)
    file.write_bytes(b"another")
    assert identity(system) != first


def test_models_are_loaded_in_threads_that_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def load(system: TranslationSystem, **options: bool) -> LoadedSystem:
        threads.append(threading.current_thread())
        return loaded(system, **options)

    loaded = LoadedSystem.load
    monkeypatch.setattr(LoadedSystem, "load", load)
    path = save(tmp_path / "model", seed=1)

    async def main() -> None:
        async with await ModelService.open(
            [described(path)], ServiceOptions(reload_seconds=0)
        ) as service:
            save(path, seed=2)
            await service.look()
            await service.look()
            assert len(threads) == 2  # PyTorch's helpers of a thread would stay as long as it does
            assert not any(thread.is_alive() for thread in threads)

    asyncio.run(main())
