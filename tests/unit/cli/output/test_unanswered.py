"""Which kubeconfig is named when the one at hand does not help."""

from __future__ import annotations

from pathlib import Path

import pytest

from nagaya.cli.output.unanswered import unanswered, unusable
from nagaya.kube.transport import Call, Unreachable

CALL = Call("GET", "/apis")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `nagaya up` writes its kubeconfig."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "nagaya" / "kubeconfig"


def _written(own: Path) -> None:
    own.parent.mkdir()
    own.touch()


def test_a_server_that_is_not_there_is_to_be_started(own: Path) -> None:
    said = unanswered(Unreachable(CALL, "https://127.0.0.1:1 cannot be reached: Connection refused"))
    assert "Connection refused. Start it with `nagaya up`, or name another with --kubeconfig or --context." in said


def test_a_server_with_another_authority_is_no_reason_to_start_one(own: Path) -> None:
    """The data folder was made anew, and the kubeconfig is a copy of before."""
    _written(own)
    why = "https://127.0.0.1:6443 cannot be reached: self-signed certificate in certificate chain"
    said = unanswered(Unreachable(CALL, why))
    assert "Start it" not in said
    assert "is not the server of this kubeconfig" in said
    assert said.endswith(f"export KUBECONFIG={own}")


@pytest.mark.parametrize("why", ["x closed the connection before it answered.", "the connection to x broke: reset"])
def test_a_connection_that_is_ended_may_be_for_a_stale_certificate(own: Path, why: str) -> None:
    assert "older than it" in unanswered(Unreachable(CALL, why))
    _written(own)
    assert f"export KUBECONFIG={own}" in unanswered(Unreachable(CALL, why))


def test_where_there_is_no_usable_kubeconfig_that_of_up_is_named(own: Path) -> None:
    assert unusable("there is no kubeconfig.").endswith("`nagaya up` starts a management API and writes one.")
    _written(own)
    assert unusable("there is no kubeconfig.").endswith(f"export KUBECONFIG={own}")
    assert unusable("a: there is no context 'b'. There are: c.") == "a: there is no context 'b'. There are: c."
