"""What `nagaya controllers` refuses before it starts. What it does then is in the integration tests."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nagaya.cli.controllers import PARTS, controllers
from nagaya.cli.plane import CONTROLLERS
from nagaya.kube import kubeconfig


def refused(*arguments: str, **environment: str) -> tuple[int, str]:
    result = CliRunner(env={"KUBECONFIG": "", "HOME": "/nowhere", **environment}).invoke(controllers, arguments)
    return result.exit_code, " ".join(result.output.split())


def test_every_part_that_there_is_can_be_chosen() -> None:
    assert tuple(CONTROLLERS) == PARTS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("clusters: [", "it is not YAML. Correct it."),
        ("{}", "current-context is not set. Set it, or name a context."),
    ],
)
def test_a_kubeconfig_of_no_use_is_one_sentence(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    code, output = refused("--kubeconfig", str(path))
    assert code == 1
    assert output.startswith(f"Error: {path}")
    assert output.endswith(message)


def test_a_kubeconfig_that_does_not_exist_is_named() -> None:
    assert refused("--kubeconfig=/nowhere/at-all") == (
        1,
        "Error: /nowhere/at-all: No such file or directory. Name a kubeconfig that can be read.",
    )


def test_in_a_pod_a_kubeconfig_of_the_user_goes_before_the_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubeconfig, "ACCOUNT_FOLDER", tmp_path)
    assert "/nowhere/chosen" in refused(KUBECONFIG="/nowhere/chosen")[1]


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_admission_needs_an_address_that_can_be_called(host: str) -> None:
    code, output = refused(f"--admission={host}:9443")
    assert code == 2
    assert "is no address that the API server can call" in output


def test_namespaces_are_given_one_by_one_or_together_and_no_name_is_empty() -> None:
    option = next(each for each in controllers.params if each.name == "namespaces")
    read = option.process_value
    context = click.Context(controllers)
    assert read(context, ("a,b", "c", "a")) == ("a", "b", "c")
    assert read(context, ()) == ()
    code, output = refused("--namespace=a,,b")
    assert code == 2
    assert output.endswith("Error: Invalid value for '--namespace': a name is missing in 'a,,b'.")
