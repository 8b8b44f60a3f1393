"""The manifest for Kubernetes names what the image and the server have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.cli.main import commands
from dragoman.core.version import __version__
from dragoman.server.server_config import ServerConfig, read_server

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def manifest() -> dict[str, Any]:
    """The objects by their kind."""
    text = (ROOT / "deploy/kubernetes.yaml").read_text(encoding="utf-8")
    return {one["kind"]: one for one in yaml.safe_load_all(text)}


@pytest.fixture
def config(manifest: dict[str, Any], tmp_path: Path) -> ServerConfig:
    file = tmp_path / "server.yaml"
    file.write_text(manifest["ConfigMap"]["data"]["server.yaml"], encoding="utf-8")
    return read_server(file, {})


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest["Deployment"]["spec"]["template"]["spec"]
    return found


def container(manifest: dict[str, Any]) -> dict[str, Any]:
    (found,) = pod(manifest)["containers"]
    return dict(found)


def test_the_server_gets_the_time_that_it_needs_to_stop(
    manifest: dict[str, Any], config: ServerConfig
) -> None:
    needed = config.drain_seconds + config.shutdown_seconds + 5
    assert pod(manifest)["terminationGracePeriodSeconds"] >= needed
    probe = container(manifest)["readinessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] < config.drain_seconds


def test_ports_and_paths_agree(manifest: dict[str, Any], config: ServerConfig) -> None:
    one = container(manifest)
    assert [port["containerPort"] for port in one["ports"]] == [config.port]
    (port,) = manifest["Service"]["spec"]["ports"]
    assert port["targetPort"] == one["ports"][0]["name"]
    assert config.host == "0.0.0.0"
    annotations = manifest["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(config.port)
    mounted = {mount["mountPath"]: mount["name"] for mount in one["volumeMounts"]}
    for system in config.systems:
        assert all(Path(model).parent.as_posix() in mounted for model in system.models)
    assert set(mounted.values()) == {volume["name"] for volume in pod(manifest)["volumes"]}
    assert Path(one["args"][2]).parent.as_posix() in mounted
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (written,) = {path for path in mounted if f"{path}/server.sqlite" in image}
    assert {written, "/tmp"} == {
        mount["mountPath"] for mount in one["volumeMounts"] if not mount.get("readOnly")
    }


def test_the_command_exists_and_the_user_is_that_of_the_image(manifest: dict[str, Any]) -> None:
    one = container(manifest)
    name, *arguments = one["args"]
    known = {option for parameter in commands.commands[name].params for option in parameter.opts}
    assert {argument for argument in arguments if argument.startswith("--")} <= known
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    user, context = pod(manifest)["securityContext"], one["securityContext"]
    assert f"USER {user['runAsUser']}:{user['runAsGroup']}" in image
    assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
    assert one["image"] == f"dragoman:{__version__}"


def test_all_objects_are_of_one_name(manifest: dict[str, Any]) -> None:
    label = {"app.kubernetes.io/name": "dragoman"}
    deployment, service = manifest["Deployment"]["spec"], manifest["Service"]["spec"]
    assert deployment["selector"]["matchLabels"] == label == service["selector"]
    assert deployment["template"]["metadata"]["labels"] == label
    assert manifest["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == label
    claims = [
        one["persistentVolumeClaim"]["claimName"]
        for one in pod(manifest)["volumes"]
        if "persistentVolumeClaim" in one
    ]
    assert claims == [manifest["PersistentVolumeClaim"]["metadata"]["name"]]
    (secret,) = {one["valueFrom"]["secretKeyRef"]["name"] for one in container(manifest)["env"]}
    comment = (
        (ROOT / "deploy/kubernetes.yaml").read_text(encoding="utf-8").partition("apiVersion")[0]
    )
    assert f"create secret generic {secret} --from-literal=database=" in comment
