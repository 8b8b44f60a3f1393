"""The Ray that a command starts here refuses strangers; only ``make test-cluster`` looks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    "DRAGOMAN_TEST_CLUSTER" not in os.environ,
    reason="starts a Ray; make test-cluster sets DRAGOMAN_TEST_CLUSTER",
)

OWNER = """
import subprocess, sys
from dragoman.cli.bulk_options import BulkOptions
with BulkOptions(1, None, None, False).meter() as meter:
    assert dict(meter.runner.carry_out(abs, [-2])) == {-2: 2}
    import os, ray
    address = ray.get_runtime_context().gcs_address
    token = os.environ.pop("RAY_AUTH_TOKEN")
    for given in ({}, {"RAY_AUTH_TOKEN": token}):
        mode = {"RAY_AUTH_MODE": "token" if given else "disabled"}
        stranger = "import sys, ray; ray.init(address=sys.argv[1]); print(ray.nodes()[0]['Alive'])"
        done = subprocess.run(
            [sys.executable, "-c", stranger, address],
            env={**os.environ, **mode, **given},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=60,
        )
        print(done.returncode == 0, b"True" in done.stdout)
"""


def test_a_stranger_is_refused() -> None:
    pytest.importorskip("ray", minversion="2.52", reason="this Ray knows no tokens")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    done = subprocess.run(
        [sys.executable, "-c", OWNER], env=clean, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["False", "False", "True", "True"], done.stderr
