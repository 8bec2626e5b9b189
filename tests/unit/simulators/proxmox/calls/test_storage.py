from __future__ import annotations

import orjson
import pytest

from nagaya.simulators.proxmox.layouts.demo import demo
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.storage import Storage, Volume
from nagaya.simulators.proxmox.storages.usage import usage_of
from support.proxmox_lab import ProxmoxLab, proxmox_lab, token
from support.virtual_run import run, virtual_world


async def _upload(
    lab: ProxmoxLab, path: str, content: bytes, fields: dict[str, str], *, name: str = "a.iso", node: str = "pve1"
) -> Answer:
    parts = [f'--b\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()]
    head = f'--b\r\nContent-Disposition: form-data; name="filename"; filename="{name}"\r\n\r\n'
    body = "".join(parts).encode() + head.encode() + content + b"\r\n--b--\r\n"
    headers = {**lab.ticket(), "content-type": "multipart/form-data; boundary=b"}
    return await lab.emulator.answer(Request("POST", f"/api2/json{path}", "", headers, body, node))


def test_an_upload_lands_on_the_host_in_the_path_and_runs_on_the_one_contacted() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            answer = await _upload(lab, "/nodes/pve2/storage/local/upload", b"disc", {"content": "iso"})
            task = await lab.ended(orjson.loads(answer.body)["data"])
            assert (task.upid.node, task.exitstatus) == ("pve1", "OK")
            assert any(line.startswith("command: /usr/bin/scp ") for line in task.log)
            assert lab.datacenter.volumes["pve2", "local:iso/a.iso"].data == b"disc"
            assert ("pve1", "local:iso/a.iso") not in lab.datacenter.volumes

    run(main())


def test_an_upload_is_for_storages_of_files() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            answer = await _upload(lab, "/nodes/pve1/storage/local-lvm/upload", b"x", {"content": "iso"})
            assert answer.reason == "can't upload to storage type 'lvmthin'"

    run(main())


def test_only_shared_storages_are_there_for_another_host() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            rows = await lab.data("GET", "/nodes/pve1/storage", {"target": "pve2"})
            assert [row["storage"] for row in rows] == ["shared"]
            assert len(await lab.data("GET", "/nodes/pve1/storage", {"target": "pve1"})) == 3

    run(main())


def test_formats_are_told_when_asked_for() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            rows = await lab.data("GET", "/nodes/pve1/storage", {"storage": "store", "format": 1})
            assert rows[0]["formats"] == {"supported": ["raw", "qcow2", "vmdk", "subvol"], "default": "raw"}

    run(main())


def test_a_digest_that_is_old_stops_a_change() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            digest = (await lab.data("GET", "/storage/store"))["digest"]
            await lab.data("PUT", "/storage/store", {"content": "images", "digest": digest})
            answer = await lab.ask("PUT", "/storage/store", {"content": "iso", "digest": digest})
            assert answer.reason == (
                "update storage failed: detected modified configuration - file changed by other user? Try again."
            )
            assert lab.datacenter.storages["store"].contents == ["images"]

    run(main())


def test_what_lies_on_a_storage_outlives_its_entry() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.acl["/storage/store", "user", "alice@pve", "PVEDatastoreUser"] = True
            await lab.data("DELETE", "/storage/store")
            assert not any(entry[0] == "/storage/store" for entry in lab.datacenter.access.acl)
            entry = {"storage": "store", "type": "dir", "path": "/var/lib/store", "content": "snippets"}
            await lab.data("POST", "/storage", entry)
            rows = await lab.data("GET", "/nodes/pve1/storage/store/content")
            assert [row["volid"] for row in rows] == ["store:snippets/hook.sh", "store:snippets/user.yaml"]

    run(main())


def test_disks_of_machines_that_a_caller_may_not_change_are_left_out() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.roles["Reader"] = frozenset({"Datastore.Audit", "VM.Config.Disk"})
            for path in ("/storage/store", "/vms/200"):
                lab.datacenter.access.acl[path, "user", "alice@pve", "Reader"] = True
            rows = await lab.data("GET", "/nodes/pve1/storage/store/content", headers=token("alice@pve!full"))
            assert {row["vmid"] for row in rows if row["content"] == "images"} == {200}

    run(main())


def test_old_backups_are_removed_by_the_rules_of_the_call() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for day in (1, 2, 3):
                name = f"backup/vzdump-qemu-100-2026_11_0{day}-00_00_00.vma.zst"
                volume = Volume("local", name, "backup", "vma.zst", 1, 1793491200 + day * 86400, "pve1", 100)
                lab.datacenter.volumes["pve1", volume.id] = volume
            path, rules = "/nodes/pve1/storage/local/prunebackups", {"prune-backups": "keep-last=1"}
            assert [row["mark"] for row in await lab.data("GET", path, rules)] == ["remove", "remove", "keep"]
            assert (await lab.task("DELETE", path, rules)).exitstatus == "OK"
            left = [volume.name for volume in lab.datacenter.volumes.values() if volume.content == "backup"]
            assert left == ["backup/vzdump-qemu-100-2026_11_03-00_00_00.vma.zst"]

    run(main())


def test_only_backups_have_notes_and_can_be_protected() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/nodes/pve1/storage/local/content/local:iso%2Flocal.iso"
            assert (await lab.ask("PUT", path, {"notes": "x"})).reason == "only backups can have notes"
            assert (await lab.ask("PUT", path, {"protected": 1})).reason == "only backups support attribute 'protected'"
            name = "backup/vzdump-qemu-200-2026_01_01-00_00_00.vma.zst"
            volume = Volume("local", name, "backup", "vma.zst", 1000, 1, "pve1", 200)
            lab.datacenter.volumes["pve1", volume.id] = volume
            path = f"/nodes/pve1/storage/local/content/local:{name.replace('/', '%2F')}"
            found = await lab.data("GET", path)
            assert (found["notes"], found["protected"]) == ("", 0)
            await lab.data("PUT", path, {"notes": "kept", "protected": 1})
            found = await lab.data("GET", path)
            assert (found["notes"], found["protected"]) == ("kept", 1)

    run(main())


def test_an_upload_that_does_not_fit_takes_the_old_file_with_it() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            storage = lab.datacenter.storages["local"]
            storage.foreign += usage_of(lab.datacenter, storage, "pve1").free - 2000
            path = "/nodes/pve1/storage/local/upload"
            small = await _upload(lab, path, b"x" * 1000, {"content": "iso"})
            assert (await lab.ended(orjson.loads(small.body)["data"])).exitstatus == "OK"
            large = await _upload(lab, path, b"x" * 5000, {"content": "iso"})
            task = await lab.ended(orjson.loads(large.body)["data"])
            said = "cp: error writing '/var/lib/vz/template/iso/a.iso': No space left on device"
            assert task.exitstatus == f"import failed: {said}"
            assert ("pve1", "local:iso/a.iso") not in lab.datacenter.volumes

    run(main())


def test_a_folder_has_a_path_of_plain_letters() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("POST", "/storage", {"storage": "new1", "type": "dir", "path": "/srv/a b"})
            assert answer.reason == "illegal path for directory storage: /srv/a b"

    run(main())


def test_only_some_storages_know_when_a_disk_was_made() -> None:
    async def main() -> None:
        world = virtual_world()
        async with proxmox_lab(demo(world), world=world) as lab:
            rows = await lab.data("GET", "/nodes/pve1/storage/local-lvm/content")
            assert {type(row["ctime"]) for row in rows} == {str}
            lab.datacenter.storages["tank"] = Storage("tank", "zfspool", {"pool": "tank", "content": "images"})
            volume = Volume("tank", "vm-100-disk-0", "images", "raw", 1 << 30, 1, "pve1", 100)
            lab.datacenter.volumes["pve1", volume.id] = volume
            (row,) = await lab.data("GET", "/nodes/pve1/storage/tank/content")
            assert "ctime" not in row

    run(main())


def test_a_disk_needs_a_name_that_tells_its_format() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path, common = "/nodes/pve1/storage/store/content", {"size": "1M", "vmid": 200}
            for name in ("vm-200-disk-8", "foo.iso", "a b.qcow2"):
                answer = await lab.ask("POST", path, {**common, "filename": name})
                assert answer.reason == f"unable to parse volume filename '{name}'"
            answer = await lab.ask("POST", path, {**common, "filename": "subvol-200-disk-8.subvol"})
            wrong = "wrong extension for format ('subvol != 'raw')"
            assert answer.reason == f"illegal name 'subvol-200-disk-8.subvol' - {wrong}"

    run(main())


def test_removing_a_file_that_is_gone_is_only_mentioned() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/nodes/pve1/storage/store/content/store:iso%2Fnosuch.iso"
            task = await lab.task("DELETE", path)
            assert task.log == [
                "disk image '/var/lib/store/template/iso/nosuch.iso' does not exist",
                "Removed volume 'store:iso/nosuch.iso'",
                "TASK OK",
            ]
            assert await lab.data("DELETE", path, {"delay": 5}) is None

    run(main())


def test_a_compression_that_nobody_knows_fails_before_anything_is_downloaded() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            order = {"content": "iso", "filename": "z.iso", "url": "http://127.0.0.1/z.iso", "compression": "rar"}
            task = await lab.task("POST", "/nodes/pve1/storage/store/download-url", order)
            assert task.log == ["TASK ERROR: no decompression method found"]

    run(main())


def test_a_storage_without_backups_has_none_to_remove() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/nodes/pve1/storage/store/prunebackups"
            answer = await lab.ask("GET", path, {"prune-backups": "keep-last=1"})
            assert answer.reason == "storage 'store' does not support backups"
            assert (await lab.task("DELETE", path)).exitstatus == "storage 'store' does not support backups"

    run(main())


def test_who_removes_old_backups_of_a_machine_needs_room_on_the_storage() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.access.roles["Keeper"] = frozenset({"Datastore.Audit", "VM.Backup"})
            for path in ("/storage/local", "/vms/200"):
                lab.datacenter.access.acl[path, "user", "alice@pve", "Keeper"] = True
            path = "/nodes/pve1/storage/local/prunebackups"
            answer = await lab.ask("DELETE", path, {"vmid": 200}, headers=token("alice@pve!full"))
            assert answer.reason == "Permission check failed (/storage/local, Datastore.AllocateSpace)"

    run(main())


def test_a_list_tells_of_protection_only_where_there_is_some() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            for name in ("vzdump-qemu-200-2026_01_01-00_00_00.vma.zst", "other.tar.gz"):
                volume = Volume("local", f"backup/{name}", "backup", "vma.zst", 1000, 1, "pve1")
                lab.datacenter.volumes["pve1", volume.id] = volume
            volume.protected = True
            rows = await lab.data("GET", "/nodes/pve1/storage/local/content", {"content": "backup"})
            assert [(row["subtype"], row.get("protected")) for row in rows] == [("unknown", 1), ("qemu", None)]

    run(main())


def test_a_file_that_is_looked_at_as_a_disk_has_whole_sectors_and_takes_whole_blocks() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            found = await lab.data("GET", "/nodes/pve1/storage/store/content/store:snippets%2Fuser.yaml")
            assert (found["size"], found["used"], found["format"]) == (512, 4096, "raw")
            rows = await lab.data("GET", "/nodes/pve1/storage/store/content", {"content": "snippets"})
            assert {row["size"] for row in rows} == {17, 26}

    run(main())


_BACKUP = "backup/vzdump-qemu-200-2026_11_01-12_00_00.vma.zst"


@pytest.mark.parametrize("what", ["list", "download"])
@pytest.mark.parametrize(
    ("volume", "refusal"),
    [
        (f"local:{_BACKUP}", "Only PBS storages supported for file-restore."),
        (_BACKUP, "Only PBS storages supported for file-restore."),
        (_BACKUP.removeprefix("backup/"), "Only PBS storages supported for file-restore."),
        (f"store:{_BACKUP}", "storage ID mismatch (store != local)."),
        ("local:iso/local.iso", "unable to use volume local:iso/local.iso - content type needs to be 'backup'"),
        ("x", "unable to parse directory volume name 'backup/x'"),
    ],
)
def test_single_files_come_from_backup_servers_only(what: str, volume: str, refusal: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = f"/nodes/pve1/storage/local/file-restore/{what}"
            answer = await lab.ask("GET", path, {"volume": volume, "filepath": "/"})
            assert refusal in answer.body.decode()
            assert answer.status in (400, 500)

    run(main())


def test_a_backup_server_without_backups_gives_no_files() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            lab.datacenter.storages["far"] = Storage("far", "pbs", {"server": "192.0.2.9", "datastore": "d"})
            path = "/nodes/pve1/storage/far/file-restore/list"
            answer = await lab.ask("GET", path, {"volume": "backup/vm/200/2026-11-01T12:00:00Z", "filepath": "/"})
            assert answer.reason == "volume 'far:backup/vm/200/2026-11-01T12:00:00Z' does not exist"

    run(main())


@pytest.mark.parametrize(
    ("volume", "refusal"),
    [
        ("iso/local.iso", "invalid content type 'iso'"),
        ("import/base.qcow2", "invalid format"),
        ("import/gone.ova", "volume 'local:import/gone.ova' does not exist"),
    ],
)
def test_only_archives_describe_machines(volume: str, refusal: str) -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            path = "/nodes/pve1/storage/local/import-metadata"
            assert (await lab.ask("GET", path, {"volume": volume})).reason == refusal
            archive = Volume("local", "import/a.ova", "import", "ova", 1 << 20, 0, "pve1")
            lab.datacenter.volumes["pve1", archive.id] = archive
            found = await lab.data("GET", path, {"volume": "import/a.ova"})
            assert found["source"] == "import/a.ova"
            assert found["warnings"] == [{"type": "ova-needs-extracting"}]

    run(main())


def test_images_of_containers_need_a_tool_that_no_host_has() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            given = {"reference": "registry.example.org/debian:13"}
            answer = await lab.ask("POST", "/nodes/pve1/storage/local/oci-registry-pull", given)
            assert answer.reason == "Install 'skopeo' to pull OCI images from registries."

    run(main())


def test_a_reference_that_is_one_long_word_is_refused_at_once() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            answer = await lab.ask("POST", "/nodes/pve1/storage/local/oci-registry-pull", {"reference": "9" * 200})
            assert answer.status == 400

    run(main())


def test_the_storage_that_every_host_has_comes_back_and_is_on_all_of_them() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            await lab.data("PUT", "/storage/local", {"nodes": "pve1"})
            assert "nodes" not in await lab.data("GET", "/storage/local")
            await lab.data("DELETE", "/storage/local")
            found = await lab.data("GET", "/storage/local")
            assert set(found["content"].split(",")) == {"backup", "images", "iso", "rootdir", "snippets", "vztmpl"}
            assert found["prune-backups"] == "keep-all=1"

    run(main())


def test_a_downloaded_image_becomes_a_disk_of_the_size_that_it_says() -> None:
    async def main() -> None:
        async with proxmox_lab() as lab:
            given = {"content": "import", "filename": "g.qcow2", "url": "http://127.0.0.1:8099/qcow"}
            task = await lab.task("POST", "/nodes/pve1/storage/store/download-url", given)
            assert task.exitstatus == "OK"
            shown = await lab.data("GET", "/nodes/pve1/storage/store/content/store:import/g.qcow2")
            assert (shown["size"], shown["format"]) == (64 << 20, "qcow2")
            await lab.task(
                "POST", "/nodes/pve1/qemu", {"vmid": 101, "scsi0": "store:0,import-from=store:import/g.qcow2"}
            )
            config = await lab.data("GET", "/nodes/pve1/qemu/101/config")
            assert config["scsi0"].endswith(",size=64M")

    run(main())
