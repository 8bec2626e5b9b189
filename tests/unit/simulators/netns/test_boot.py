from __future__ import annotations

from pathlib import Path

from nagaya.simulators.netns.boot import Boot
from nagaya.simulators.netns.cloud_config import read
from nagaya.simulators.netns.command import Done


async def test_cloud_init_goes_on_after_what_fails_and_logs_each_step(tmp_path: Path) -> None:
    ran: list[list[str]] = []

    async def inside(command: list[str], stdin: bytes = b"", *, timeout: float) -> Done:
        ran.append([command[0], *command[3:]])
        return Done(1 if "exec" in " ".join(command) else 0, b"" if stdin else b"said\n")

    text = b"#cloud-config\nusers: []\nbootcmd: ['false']\nwrite_files: [{path: /a, content: x}]\nruncmd: ['true']\n"
    log = tmp_path / "cloud-init.log"
    booted = await Boot(inside, log).run(read(text, {}))
    assert [name.split(" (")[0] for name, _ in booted.codes] == [
        "write /var/lib/cloud/instance/scripts/bootcmd",
        "bootcmd",
        "write /a",
        "write /var/lib/cloud/instance/scripts/runcmd",
        "runcmd",
        "write /var/lib/cloud/instance/boot-finished",
    ]
    assert not booted.succeeded
    assert log.read_text().splitlines()[0].startswith("note: users is not done")
    assert "bootcmd: ended with 1: said" in log.read_text()
