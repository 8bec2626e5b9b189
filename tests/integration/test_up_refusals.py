"""What `nagaya up` says when its controllers cannot begin."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from nagaya.cli import controllers_run
from nagaya.cli.main import main
from nagaya.kube.errors import ServiceUnavailable
from nagaya.kube.transport import Call


def test_a_disk_that_is_full_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "nothing was changed: state.db: the disk is full. Free space on its file system"

    async def full(*_: object, **__: object) -> None:
        raise ServiceUnavailable(Call("PATCH", "/apis"), 503, {"message": said, "reason": "ServiceUnavailable"})

    monkeypatch.setattr(controllers_run, "install_definitions", full)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    done = CliRunner().invoke(main, ["up", "--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0"])
    for number, handler in handlers.items():
        signal.signal(number, handler)  # a process that ends does not restore them, and later tests send signals
    assert done.exit_code == 1
    told = "Error: the controllers cannot begin: state.db: the disk is full. Free space on its file system. Then start"
    assert told in done.output
