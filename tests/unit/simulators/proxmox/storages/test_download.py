from __future__ import annotations

import gzip
import hashlib

from nagaya.simulators.proxmox.storages.sources import Source
from nagaya.simulators.proxmox.tasks.runner import Task
from support.proxmox_lab import ProxmoxLab, proxmox_lab
from support.virtual_run import run

MIB = 1 << 20
URL = "https://images.example.org/debian.qcow2"


async def _download(lab: ProxmoxLab, **options: object) -> Task:
    given = {"content": "import", "filename": "debian.qcow2", "url": URL, **options}
    return await lab.task("POST", "/nodes/pve1/storage/store/download-url", given)


def test_an_imagined_image_is_there_afterwards_with_its_size() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.emulator.sources.add(URL, Source(size=100 * MIB, checksums={"sha256": "ab" * 32}, system="linux"))
            task = await _download(lab, **{"checksum": "AB" * 32, "checksum-algorithm": "sha256"})
            assert task.exitstatus == "OK"
            assert "calculating checksum...OK, checksum verified" in task.log
            assert sum(line.endswith("s") and "K ...." in line for line in task.log) >= 3
            volume = lab.datacenter.volumes["pve1", "store:import/debian.qcow2"]
            assert (volume.size, volume.system) == (100 * MIB, "linux")

    run(main())


def test_a_failed_download_leaves_nothing() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.emulator.sources.add(URL, Source(size=MIB))
            task = await _download(lab, **{"checksum": "ab" * 32, "checksum-algorithm": "sha256"})
            assert (task.exitstatus or "").startswith("checksum mismatch: got '")
            assert ("pve1", "store:import/debian.qcow2") not in lab.datacenter.volumes

    run(main())


def test_what_is_there_is_not_overwritten_unasked() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.emulator.sources.add(URL, Source(size=MIB))
            assert (await _download(lab)).exitstatus == "OK"
            refused = await _download(lab)
            assert refused.exitstatus == "refusing to override existing file '/var/lib/store/import/debian.qcow2'"

    run(main())


def test_hosts_and_files_that_are_not_there() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            unknown = await _download(lab)
            assert unknown.exitstatus == ("download failed: wget: unable to resolve host address 'images.example.org'")
            lab.emulator.sources.add(f"{URL}.sha256", Source(b"x"))
            missing = await _download(lab)
            assert missing.exitstatus == "download failed: exit code 8"
            assert any("404 Not Found" in line for line in missing.log)

    run(main())


def test_compressed_files_are_unpacked() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            packed = gzip.compress(b"disc" * 1000)
            lab.emulator.sources.add(URL, Source(packed))
            task = await _download(
                lab,
                content="iso",
                filename="a.iso",
                compression="gz",
                checksum=hashlib.sha256(packed).hexdigest(),
                **{"checksum-algorithm": "sha256"},
            )
            assert task.exitstatus == "OK"
            assert lab.datacenter.volumes["pve1", "store:iso/a.iso"].data == b"disc" * 1000
            refused = await _download(lab, compression="gz")
            assert refused.exitstatus == "decompression not supported for import"

    run(main())


def test_a_server_that_is_asked_about_a_file_tells_its_size() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.emulator.sources.add(URL, Source(size=7, content_type="text/plain; charset=utf-8"))
            lab.emulator.sources.add("https://images.example.org/new", Source(redirect="debian.qcow2"))
            path = "/nodes/pve1/query-url-metadata"
            told = await lab.data("GET", path, {"url": "https://images.example.org/new"})
            assert told == {"filename": "new", "size": 7, "mimetype": "text/plain"}
            answer = await lab.ask("GET", path, {"url": "http://nowhere.invalid/x"})
            assert answer.reason.startswith("invalid server response: '500 Can't connect to nowhere.invalid:80")

    run(main())


def test_a_file_that_does_not_fit_is_not_kept() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            storage = lab.datacenter.storages["store"]
            storage.foreign = storage.capacity - 40 * MIB
            lab.emulator.sources.add(URL, Source(size=100 * MIB))
            task = await _download(lab)
            assert task.exitstatus == (
                "download failed: Cannot write to "
                f"'/var/lib/store/import/debian.qcow2.tmp_dwnl.{task.upid.pid}' (No space left on device)."
            )
            assert ("pve1", "store:import/debian.qcow2") not in lab.datacenter.volumes

    run(main())
