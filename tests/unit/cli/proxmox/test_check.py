"""`nagaya proxmox check` and `image list` where the management API is of no help: why, and what to do."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nagaya.cli.main import main
from nagaya.cli.proxmox.api import management_options, unhelpful
from nagaya.kube.errors import Forbidden, NotFound
from nagaya.kube.transport import Call

CALL = Call("GET", "/apis")
NOBODY = """apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: a, user: {token: x}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
"""


@pytest.mark.parametrize("command", [("check",), ("image", "list")])
def test_an_api_that_does_not_answer_is_told_with_the_command_that_starts_one(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(NOBODY)
    done = CliRunner().invoke(main, ["proxmox", *command, "--kubeconfig", str(kubeconfig)])
    assert done.exit_code == 4
    assert "The management API does not answer: https://127.0.0.1:1 cannot be reached" in done.output
    assert "Start it with `nagaya up`, or name another with --kubeconfig or --context." in done.output


def test_an_api_without_the_kinds_and_a_refusal_are_told_apart() -> None:
    assert "nagaya crds | kubectl apply" in str(unhelpful(NotFound(CALL, 404, {"message": "404 page not found"})))
    assert "refuses it: " in str(unhelpful(Forbidden(CALL, 403, {"message": "no"})))


def _said_where(*options: str) -> str:
    @click.command()
    @management_options
    def told(kubeconfig: Path | None, context: str | None, namespace: str) -> None:
        click.echo(namespace)

    return CliRunner().invoke(told, options).output.strip()


def test_connections_are_looked_for_where_the_kubeconfig_says(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(NOBODY.replace("user: a}}]", "user: a, namespace: team-a}}]"))
    given = ("--kubeconfig", str(kubeconfig))
    assert _said_where(*given) == "team-a"
    assert _said_where(*given, "-n", "team-b") == "team-b"
    kubeconfig.write_text(NOBODY)
    assert _said_where(*given) == "default"
    kubeconfig.write_text("broken: [")
    assert _said_where(*given) == "default", "who needs the kubeconfig tells what is wrong with it"
