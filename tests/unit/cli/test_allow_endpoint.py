"""The option by which an administrator allows endpoints."""

from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner

from nagaya.address_policy import AddressPolicy, AddressRefused
from nagaya.allowed_endpoints import published
from nagaya.cli import controllers_run
from nagaya.cli.controllers_run import Controllers, Settings, Way
from nagaya.cli.main import main
from nagaya.kube.connection import Connection
from nagaya.kube.http import HttpTransport
from nagaya.world import World


@pytest.mark.parametrize("command", ["up", "controllers", "manifests"])
def test_an_endpoint_that_cannot_be_read_is_told_before_anything_starts(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--allow-endpoint", "127.0.0.1:99999"])
    assert result.exit_code == 2
    assert "'127.0.0.1:99999' is not HOST[:PORT] or NETWORK[:PORT]. Write for example" in " ".join(
        result.output.split()
    )


def test_manifests_hand_endpoints_to_the_controllers() -> None:
    given = ["--allow-endpoint", "10.0.0.1:8006", "--allow-endpoint", "[fe80::1]:8006"]
    result = CliRunner().invoke(main, ["manifests", "--no-crds", *given])
    assert result.exit_code == 0
    (deployment,) = [each for each in yaml.safe_load_all(result.output) if each["kind"] == "Deployment"]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[-2:] == ["--allow-endpoint=10.0.0.1:8006", "--allow-endpoint=[fe80::1]:8006"]


def test_without_controllers_nothing_is_connected_to() -> None:
    result = CliRunner().invoke(main, ["up", "--without-controllers", "--allow-endpoint", "127.0.0.1:1"])
    assert result.exit_code == 2
    assert "leave out --allow-endpoint" in result.output


async def test_controllers_of_another_api_lead_no_object_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = AddressPolicy()
    monkeypatch.setattr(controllers_run, "POLICY", policy)
    connection, world = Connection("https://10.9.8.7:6443"), World()
    way = Way(connection.server, lambda: HttpTransport(connection, world=world))
    controllers = Controllers(Settings(("ipam",), allowed=("10.9.8.6:8006",)), way, world)
    assert "10.9.8.6:8006" not in published(), "it is this process's alone"
    await controllers.close()
    with pytest.raises(AddressRefused, match="is the management API itself"):
        policy.check(("10.9.8.7", 6443))
