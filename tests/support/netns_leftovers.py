"""What is left on this computer of machines that are namespaces: nothing, if they were removed as they should be."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path

from nagaya.simulators.netns import equipment
from nagaya.simulators.netns.host import NetnsHost
from support.debian import unpacked


def leftovers(host: NetnsHost) -> list[str]:
    """Everything on this computer that could be of this host: interfaces, control groups, mounts, processes."""
    mark = hashlib.sha256(str(host.folder).encode()).hexdigest()[:6]
    ip = equipment.host_program("ip", unpacked())
    links = json.loads(subprocess.run([ip, "-json", "link"], capture_output=True, check=True, timeout=60).stdout)
    found = [link["ifname"] for link in links if link["ifname"].startswith(f"ngy{mark}")]
    # Not a glob: groups of others may go while their parents are listed, which ends it.
    folders = [Path(folder) / name for folder, names, _ in os.walk("/sys/fs/cgroup") for name in names]
    found += [str(folder) for folder in folders if folder.name == f"nagaya-netns-{mark}"]
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if str(host.folder) in line]
    found += [f"files in {part}" for part in host.folder.glob("*/*") if part.name not in ("log", "pod.json")]
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"nagaya-netns-{mark}" in (process / "cgroup").read_text():
                found.append((process / "cmdline").read_text())
    return found
