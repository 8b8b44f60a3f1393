"""Alerts and the dashboard name what a server exports; promtool checks and tests them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from dragoman.server.monitoring import AnsweredRequest, Monitoring
from dragoman.translation.service.interface import ServiceStatus, SystemStatus

FOLDER = Path(__file__).parents[2] / "deploy/monitoring"
_NAME = re.compile(r"\b(?:dragoman_\w+|up\b)(?=[^\w:\"])")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!=|!~|=)\s*\"")
_GROUPED = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")
_OF_PROMETHEUS = {"up": {"job", "instance"}}

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool, of Prometheus, is not installed"
)


@pytest.fixture(scope="module")
def exported() -> dict[str, set[str]]:
    """The metrics of a server, each with its labels and those that Prometheus adds."""
    system = SystemStatus(
        models=("en-de",),
        pairs=(),
        waiting_lines=0,
        lines=1,
        batches=1,
        seconds=0.1,
        reloads=0,
        problem=None,
    )
    monitoring = Monitoring(lambda: ServiceStatus((system,), directions=1))
    monitoring.begin()
    monitoring.record(AnsweredRequest("POST", "/translate", "/translate", 200, 0.1, "::1"))
    families = text_string_to_metric_families(monitoring.text().decode())
    samples = [sample for family in families for sample in family.samples]
    added = {"job", "instance"}
    return _OF_PROMETHEUS | {sample.name: added | set(sample.labels) for sample in samples}


def read(name: str) -> Any:
    text = (FOLDER / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else yaml.safe_load(text)


def rules() -> list[dict[str, Any]]:
    return [rule for group in read("rules.yaml")["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read("grafana.json")["panels"]
    return found


def panel_expressions() -> Iterator[str]:
    """Those of the dashboard, as Grafana sends them."""
    for panel in panels():
        for target in panel["targets"]:
            text = target["expr"].replace("$__rate_interval", "1m")
            yield text.replace("$job", "dragoman").replace("$instance", ".*")


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["promtool", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("expression", [*(rule["expr"] for rule in rules()), *panel_expressions()])
def test_expressions_name_metrics_and_labels_of_a_server(
    expression: str, exported: dict[str, set[str]]
) -> None:
    names = set(_NAME.findall(expression))
    assert names and names <= exported.keys()
    grouped = {
        label.strip() for found in _GROUPED.findall(expression) for label in found.split(",")
    }
    labels = set.union(*(exported[name] for name in names))
    assert grouped | set(_LABEL.findall(expression)) <= labels


def test_every_metric_but_time_stamps_is_on_the_dashboard(exported: dict[str, set[str]]) -> None:
    shown = {name for expression in panel_expressions() for name in _NAME.findall(expression)}
    of_one_histogram = {f"dragoman_request_seconds_{part}" for part in ("count", "sum")}
    stamps = {name for name in exported if name.endswith("_created")}
    assert shown == exported.keys() - of_one_histogram - stamps


def test_every_alert_is_tested_to_fire_and_not_to() -> None:
    alerts = {rule["alert"] for rule in rules()}
    fired: set[str] = set()
    silent: set[str] = set()
    for test in read("rules.test.yaml")["tests"]:
        for one in test["alert_rule_test"]:
            (fired if one["exp_alerts"] else silent).add(one["alertname"])
    assert fired == silent == alerts


def test_panels_do_not_overlap_and_have_numbers_of_their_own() -> None:
    assert len({panel["id"] for panel in panels()}) == len(panels())
    places = [panel["gridPos"] for panel in panels()]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        apart = any(
            a[start] + a[size] <= b[start]
            for start, size in (("x", "w"), ("y", "h"))
            for a, b in ((one, other), (other, one))
        )
        assert apart, (one, other)


@needs_promtool
def test_promtool_finds_nothing_wrong() -> None:
    for arguments in (("check", "config", "prometheus.yaml"), ("test", "rules", "rules.test.yaml")):
        done = promtool(*arguments[:2], FOLDER / arguments[2])
        assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
@pytest.mark.parametrize(("right", "wrong"), [("> 30", "> 3000"), ("== 1\n", "== 2\n")])
def test_promtool_notices_an_alert_that_has_changed(right: str, wrong: str, tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    text = (FOLDER / "rules.yaml").read_text(encoding="utf-8")
    assert text.count(right) == 1
    (tmp_path / "rules.yaml").write_text(text.replace(right, wrong), encoding="utf-8")
    assert promtool("test", "rules", tmp_path / "rules.test.yaml").returncode != 0


@needs_promtool
def test_promtool_reads_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    found = [
        {"record": f"panel:{number}", "expr": expression}
        for number, expression in enumerate(panel_expressions())
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": found}]}), "utf-8")
    done = promtool("check", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr
