"""What goes wrong with the demo does not end the management API that it runs in."""

from __future__ import annotations

from pathlib import Path

import pytest

from nagaya.blueprints.applying import NotCreated
from nagaya.cli.demo.run import Demo
from nagaya.world import World
from support.transports import Scripted


async def test_a_tenant_that_could_not_be_created_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fail(*_: object) -> None:
        raise NotCreated("Cluster demo was not created: exceeded quota. Nothing was created.")

    async def is_wanted(*_: object) -> bool:
        return True

    monkeypatch.setattr(Demo, "run", fail)
    monkeypatch.setattr(Demo, "_is_wanted", is_wanted)
    await Demo(tmp_path, tmp_path / "kubeconfig").run_once(Scripted, World(), "https://127.0.0.1:1")
    assert "The demo could not be made: Cluster demo was not created" in capsys.readouterr().err
