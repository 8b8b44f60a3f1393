"""A small Hugging Face Hub: repositories of files, on a free port."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from running_server import running
from starlette.responses import JSONResponse, Response

Files = dict[str, bytes]


@dataclass
class HubServer:
    """Its repositories by name, each with one commit; ``datasets/`` is in front of data sets."""

    repositories: dict[str, Files] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    address: str = ""
    sent: list[str] = field(default_factory=list)
    """The files that were sent."""
    breaks: bool = False
    """Whether large files end in the middle."""

    def commit(self, repository: str) -> str:
        """A digest of all files, as the name of the commit."""
        files = self.repositories[repository]
        content = b"".join(name.encode() + files[name] for name in sorted(files))
        return hashlib.sha1(content).hexdigest()

    def add(self, repository: str, folder: Path) -> None:
        """Add the files of a folder."""
        self.repositories[repository] = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }


def _missing(code: str, status: int = 404) -> Response:
    return JSONResponse({"error": code}, status, {"X-Error-Code": code, "X-Error-Message": code})


def _front_matter(files: Files) -> dict[str, Any]:
    import yaml

    text = files.get("README.md", b"").decode()
    found = yaml.safe_load(text.split("---")[1]) if text.startswith("---") else {}
    return dict(found)


def _app(server: HubServer) -> FastAPI:
    app = FastAPI()

    def info(repository: str, revision: str) -> Response:
        if repository in server.gated:
            return _missing("GatedRepo", 403)
        if repository not in server.repositories:
            return _missing("RepoNotFound", 401)
        commit = server.commit(repository)
        if revision not in {"main", commit}:
            return _missing("RevisionNotFound")
        files = server.repositories[repository]
        siblings = [{"rfilename": name, "size": len(files[name])} for name in files]
        return JSONResponse(
            {
                "id": repository.removeprefix("datasets/"), "modelId": repository,
                "sha": commit, "private": False,
                "tags": [], "downloads": 0, "likes": 0, "siblings": siblings,
                "cardData": _front_matter(files),
            }
        )  # fmt: skip

    @app.get("/api/models/{owner}/{name}")
    def newest(owner: str, name: str) -> Response:
        return info(f"{owner}/{name}", "main")

    @app.get("/api/models/{owner}/{name}/revision/{revision}")
    def at(owner: str, name: str, revision: str) -> Response:
        return info(f"{owner}/{name}", revision)

    @app.get("/api/datasets/{owner}/{name}")
    def newest_data(owner: str, name: str) -> Response:
        return info(f"datasets/{owner}/{name}", "main")

    @app.get("/api/datasets/{owner}/{name}/revision/{revision}")
    def data_at(owner: str, name: str, revision: str) -> Response:
        return info(f"datasets/{owner}/{name}", revision)

    @app.get("/api/datasets/{owner}/{name}/tree/{revision}")
    def data_tree(owner: str, name: str, revision: str) -> Response:
        return tree("datasets/" + owner, name, revision)

    @app.api_route(
        "/datasets/{owner}/{name}/resolve/{revision}/{path:path}", methods=["GET", "HEAD"]
    )
    def resolve_data(owner: str, name: str, revision: str, path: str, request: Request) -> Response:
        return resolve(f"datasets/{owner}", name, revision, path, request)

    @app.get("/api/models/{owner}/{name}/tree/{revision}")
    def tree(owner: str, name: str, revision: str) -> Response:
        files = server.repositories[f"{owner}/{name}"]
        return JSONResponse(
            [
                {"type": "file", "path": path, "size": len(content), "oid": _oid(content)}
                for path, content in files.items()
            ]
        )

    @app.api_route("/{owner}/{name}/resolve/{revision}/{path:path}", methods=["GET", "HEAD"])
    def resolve(owner: str, name: str, revision: str, path: str, request: Request) -> Response:
        repository = f"{owner}/{name}"
        files = server.repositories[repository]
        if path not in files:
            return _missing("EntryNotFound")
        headers = {
            "ETag": f'"{_oid(files[path])}"',
            "X-Repo-Commit": server.commit(repository),
            "Accept-Ranges": "bytes",
        }
        begin = 0
        if (asked := request.headers.get("Range")) is not None:
            begin = int(asked.removeprefix("bytes=").partition("-")[0])
            size = len(files[path])
            headers["Content-Range"] = f"bytes {begin}-{size - 1}/{size}"
        if request.method == "GET":
            server.sent.append(path)
        return Response(files[path][begin:], 206 if begin else 200, headers)

    @app.post("/api/repos/create")
    async def create(request: Request) -> Response:
        body = await request.json()
        repository = f"{body['organization']}/{body['name']}"
        url = f"{server.address}/{repository}"
        if repository in server.repositories:
            return JSONResponse({"url": url, "error": "exists"}, 409)
        server.repositories[repository] = {}
        return JSONResponse({"url": url})

    @app.post("/api/validate-yaml")
    def validate() -> Response:
        return JSONResponse({"errors": [], "warnings": []})

    @app.post("/api/models/{owner}/{name}/preupload/{revision}")
    async def before(request: Request) -> Response:
        body = await request.json()
        modes = [
            {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False}
            for one in body["files"]
        ]
        return JSONResponse({"files": modes})

    @app.post("/api/models/{owner}/{name}/commit/{revision}")
    async def commit(owner: str, name: str, request: Request) -> Response:
        repository = f"{owner}/{name}"
        for line in (await request.body()).splitlines():
            record = json.loads(line)
            if record["key"] == "file":
                content = base64.b64decode(record["value"]["content"])
                server.repositories[repository][record["value"]["path"]] = content
        sha = server.commit(repository)
        return JSONResponse(
            {
                "success": True,
                "commitOid": sha,
                "commitUrl": f"{server.address}/{repository}/commit/{sha}",
            }
        )

    return app


def _oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@contextmanager
def hub_server() -> Iterator[HubServer]:
    """A Hub without repositories."""
    server = HubServer()
    with running(_app(server)) as address:
        server.address = address
        yield server
