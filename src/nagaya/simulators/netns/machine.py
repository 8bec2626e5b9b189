"""One machine: from power on, through its cloud-init, to power off.

Its first process is the end of all others: when it is killed the kernel ends every process in the machine and takes
away its mounts, its network and its names. That process dies with whoever made it, so a machine never outlives the
process that has it. What always holds: `destroy` may be called at any moment, any number of times, and when it returns
nothing of the machine is left but its logs.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Final

from nagaya.simulators.netns import boot, image
from nagaya.simulators.netns.boot import Boot, Booted
from nagaya.simulators.netns.cgroups import Groups
from nagaya.simulators.netns.cloud_config import CloudConfig
from nagaya.simulators.netns.command import PATIENCE, CommandFailed, Done, attempt
from nagaya.simulators.netns.equipment import equipment, script, unpacked
from nagaya.simulators.netns.network import Bridge

_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENVIRONMENT: Final = (f"PATH={_PATH}", "HOME=/root", "LANG=C.UTF-8")
_NAMESPACES: Final = ("--mount", "--net", "--uts", "--ipc", "--pid", "--cgroup")
_JOIN: Final = 'for group in $GROUPS_TO_JOIN; do echo $$ > "$group"; done; unset GROUPS_TO_JOIN; exec "$@"'
_CONTAINERD_WAIT: Final = 60.0
"""Seconds for containerd to answer. The machine restarts containerd whenever it exits."""
_PAUSE: Final = 0.05


class Machine:
    """A machine of a `NetnsHost`, which makes it."""

    def __init__(
        self,
        folder: Path,
        name: str,
        number: int,
        address: IPv4Interface,
        groups: Groups,
        bridge: Bridge,
        gone: Callable[[Machine], None],
    ) -> None:
        self.folder = folder
        self.name = name
        self.address = address
        self._number = number
        self._groups = groups
        self._bridge = bridge
        self._gone = gone
        self._process: asyncio.subprocess.Process | None = None
        self._pid = 0
        self._boot: asyncio.Task[Booted] | None = None
        self._ending = asyncio.Lock()
        self._ended = False

    @property
    def pods(self) -> IPv4Network:
        """The range that its pods have addresses from."""
        return self._bridge.plan.pods(self._number)

    @property
    def running(self) -> bool:
        """Whether it is powered on."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        """Its first process, as the host sees it."""
        return self._pid

    def log(self, name: str) -> str:
        """What one of its logs says: `machine`, `cloud-init`, `runcmd`, `kubelet`, `containerd`."""
        try:
            return (self.folder / "log" / f"{name}.log").read_text(errors="replace")
        except FileNotFoundError:
            return ""

    async def finished(self) -> Booted:
        """Wait until its cloud-init has ended. Raises what went wrong with the machine itself."""
        assert self._boot is not None, "the machine was never powered on"
        return await asyncio.shield(self._boot)

    async def run(
        self, command: Sequence[str], stdin: bytes = b"", *, timeout: float = PATIENCE, errors_apart: bool = False
    ) -> Done:
        """Run a program in the machine, to its end."""
        if not self.running:
            raise CommandFailed(f"machine {self.name} is not running")
        inside = ["nsenter", f"--target={self._pid}", "--all", "--", "env", "-i", "--chdir=/", *_ENVIRONMENT, *command]
        command = self._joining(self._groups.entrances(self.name), inside)
        return await attempt(command, stdin, timeout=timeout, errors_apart=errors_apart)

    async def power_on(
        self,
        config: CloudConfig,
        programs: Sequence[Path],
        images: Sequence[bytes],
        packages: Path | None,
        hardware_address: str = "",
    ) -> None:
        """Start it. Its cloud-init runs on after this returns."""
        await asyncio.to_thread(self._lay_out, packages)
        await self._start(programs, packages)
        await self._bridge.connect(self._number, self._pid, self.address, self.pods, hardware_address)
        self._boot = asyncio.get_running_loop().create_task(self._come_up(config, images), name=f"boot of {self.name}")
        # Whoever never asks how it went has its log to look at.
        self._boot.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def destroy(self) -> None:
        """Power off, as if a plug were pulled, and leave nothing."""
        async with self._ending:
            if self._ended:
                return  # its name, its addresses and its process ids may be another's by now
            if self._boot is not None:
                self._boot.cancel()
                await asyncio.gather(self._boot, return_exceptions=True)
            if self._process is not None:
                if self.running:
                    self._process.kill()
                await self._process.wait()
            # Whatever the kernel has not ended with the first process is ended here.
            await self._groups.remove(self.name)
            await self._bridge.disconnect(self._number, self.pods)
            await asyncio.to_thread(_clear, self.folder)
            self._ended = True
            self._gone(self)

    async def _come_up(self, config: CloudConfig, images: Sequence[bytes]) -> Booted:
        await self._succeed(["systemctl", "start", "containerd"])
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _CONTAINERD_WAIT
        while (await self.run(["ctr", "version"])).code:
            if loop.time() > deadline:
                raise CommandFailed(f"containerd did not come up in {self.name}: {self.log('containerd')[-2000:]}")
            await asyncio.sleep(_PAUSE)
        for archive in (image.pause(), *images):
            await self._succeed(["ctr", "--namespace", "k8s.io", "images", "import", "-"], archive)
        return await Boot(self.run, self.folder / "log" / boot.LOG).run(config)

    async def _succeed(self, command: Sequence[str], stdin: bytes = b"") -> None:
        done = await self.run(command, stdin)
        if done.code:
            raise CommandFailed(f"{' '.join(command)} in {self.name} ended with {done.code}: {done.text[-2000:]}")

    async def _start(self, programs: Sequence[Path], packages: Path | None) -> None:
        trees = self._groups.trees
        environment = {
            "PATH": _PATH,
            "MACHINE_FOLDER": str(self.folder),
            "MACHINE_NAME": self.name,
            "MACHINE_CGROUPS": "\n".join(tree.mounting for tree in trees if not tree.unified),
            "MACHINE_PROGRAMS": "\n".join(map(str, programs)),
            "MACHINE_PACKAGES": "" if packages is None else str(unpacked(packages)),
        }
        entrances = self._groups.make(self.name)
        # The kernel ends it when the thread that starts it ends, however that happens.
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", *_NAMESPACES, "--propagation", "slave"]
        command += ["--fork", "--kill-child", "sh", "-x", str(self.folder / "machine.sh")]
        with (self.folder / "log" / "machine.log").open("ab") as log:
            self._process = process = await asyncio.create_subprocess_exec(
                *self._joining(entrances, command),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE):
                said = await process.stdout.readline()
        except TimeoutError:
            said = b""
        if said.strip() != b"up":
            raise CommandFailed(f"machine {self.name} did not come up: {self.log('machine')[-2000:]}")
        self._pid = await asyncio.to_thread(_only_child, process.pid)
        await asyncio.to_thread(self._groups.settle, self.name, process.pid)

    def _lay_out(self, packages: Path | None) -> None:
        """The machine's folder: what it gets, and where its logs go."""
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "log").mkdir(parents=True)
        unified = any(tree.unified for tree in self._groups.trees)
        files = equipment(
            self._bridge.name, self.name, self.address, self.pods, unified_cgroups=unified, packages=packages
        )
        for path, (content, mode) in files.items():
            place = self.folder / "root.d" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content)
            place.chmod(mode)
        for folder, _, _ in os.walk(self.folder / "root.d"):
            Path(folder).chmod(0o755)  # they become the machine's own folders
        (self.folder / "machine.sh").write_text(script("machine.sh"))

    @staticmethod
    def _joining(entrances: Sequence[Path], command: Sequence[str]) -> list[str]:
        """A command that enters groups before it becomes the one that is meant."""
        groups = " ".join(map(str, entrances))
        return ["env", f"GROUPS_TO_JOIN={groups}", "sh", "-ec", _JOIN, "sh", *command]


def _only_child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _clear(folder: Path) -> None:
    """Remove everything of a machine but its logs."""
    for part in ("root.d", "fs"):
        shutil.rmtree(folder / part, ignore_errors=True)
    (folder / "machine.sh").unlink(missing_ok=True)


def meta_data_of(name: str, address: IPv4Interface, given: Mapping[str, str]) -> dict[str, str]:
    """What a machine is told about itself: its name and its address, unless something else is given."""
    own = {"instance-id": name, "local-hostname": name, "hostname": name, "local-ipv4": str(address.ip)}
    return {**own, **given}
