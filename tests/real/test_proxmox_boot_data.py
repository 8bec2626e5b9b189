"""Boot data for machines of Proxmox VE, judged by those who read it: the real cloud-init, and real readers of CDs."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from ipaddress import ip_address, ip_interface
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.infrastructure.proxmox.boot.iso9660 import image
from nagaya.infrastructure.proxmox.boot.native import SEED, WriteFile, steps
from nagaya.infrastructure.proxmox.boot.network import Address, Network, Nic, Route, RoutingPolicy, Vrf
from nagaya.infrastructure.proxmox.boot.nocloud import LABEL, meta_data, seed
from support.cloud_init import SYSTEM_PYTHON
from support.debian import needed, program

UUID = "41ec1197-580f-460b-b41b-1dfefabe6e32"
MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
FIRST = Nic(
    "net0",
    "BC:24:11:5B:22:C2",
    (
        Address(ip_interface("10.10.10.12/24"), ip_address("10.10.10.1"), 100),
        Address(ip_interface("2001:db8::12/64"), ip_address("2001:db8::1"), 100),
    ),
    dns_servers=("8.8.8.8", "2001:4860:4860::8888"),
    dns_search=("home.example",),
    mtu=9000,
    routes=(Route(ip_interface("172.16.24.0/24"), ip_address("10.10.10.254"), 50),),
)
SECOND = Nic("net1", "12:34:56:10:20:30", dhcp4=True, dhcp_routes=False)
USER_DATA = b"#cloud-config\nruncmd: [echo]\n"

# Its own data source on a folder of our own, and its own renderers of what that says about the network.
_READ = """
import json, sys
from cloudinit import helpers
from cloudinit.net import netplan, network_state, networkd
from cloudinit.sources import DataSourceNoCloud

folder, config = json.load(sys.stdin)
paths = helpers.Paths({"cloud_dir": folder, "run_dir": folder + "/run"})
source = DataSourceNoCloud.DataSourceNoCloud(config, None, paths)
found = source._get_data()
network = source.network_config
network = network.get("network", network)  # as its stages do before they hand it on
text = lambda data: data.decode() if isinstance(data, bytes) else data
answer = {"found": found, "meta": source.metadata, "user": text(source.userdata_raw), "network": network}
if "vrfs" not in network:  # which it only hands on to netplan
    state = network_state.parse_net_config_data(network, skip_broken=False)
    answer["units"] = networkd.Renderer({})._render_content(state)
passed_on = netplan.Renderer({})
answer["netplan"] = passed_on._render_content(network_state.parse_net_config_data(network, renderer=passed_on))
json.dump(answer, sys.stdout)
"""


def read_by_cloud_init(files: Mapping[str, bytes], folder: Path) -> dict[str, Any]:
    """What cloud-init reads from a seed that the agent has written, with the drive of Proxmox VE out of its sight."""
    root = needed() / "root"
    if not SYSTEM_PYTHON.exists():
        pytest.skip(f"there is no {SYSTEM_PYTHON}, which Debian's cloud-init runs on")
    written = {each.path: each.content for each in steps(files) if isinstance(each, WriteFile)}
    (folder / "seed" / "nocloud").mkdir(parents=True)
    config: dict[str, Any] = {}
    for path, content in written.items():
        if path.startswith(SEED):
            (folder / "seed" / "nocloud" / Path(path).name).write_bytes(content)
        else:
            config |= yaml.safe_load(content)
    libraries = root / "usr" / "lib" / "python3" / "dist-packages"
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", _READ],
        input=json.dumps([str(folder), config]),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(libraries), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def lines(unit: str) -> list[str]:
    return [line for line in unit.splitlines() if line]


def test_cloud_init_knows_the_machine_and_its_network(tmp_path: Path) -> None:
    network = Network((FIRST, SECOND))
    meta = meta_data(UUID, "web-1", "v1.36.3", provider_id=True)
    read = read_by_cloud_init(seed(USER_DATA, meta, network), tmp_path)
    assert read["found"]
    assert {**yaml.safe_load(meta), **read["meta"]} == read["meta"]
    assert read["user"] == USER_DATA.decode()
    first = lines(read["units"]["eth0"])
    assert {f"MACAddress={FIRST.mac.lower()}", "Address=10.10.10.12/24", "Address=2001:db8::12/64"} <= set(first)
    assert {"Gateway=10.10.10.1", "Gateway=2001:db8::1", "Destination=172.16.24.0/24", "MTUBytes=9000"} <= set(first)
    assert {"DNS=8.8.8.8 2001:4860:4860::8888", "Domains=home.example", "DHCP=no"} <= set(first)
    second = lines(read["units"]["eth1"])
    assert {"MACAddress=12:34:56:10:20:30", "DHCP=ipv4", "UseRoutes=False"} <= set(second)


def test_netplan_gets_routing_domains_and_policies_as_they_are(tmp_path: Path) -> None:
    policy = RoutingPolicy(source=ip_interface("10.10.0.0/16"), priority=999, table=100)
    network = Network((FIRST, SECOND), (Vrf("vrf-blue", 500, ("net1",), policies=(policy,)),))
    files = seed(USER_DATA, meta_data(UUID, "web-1"), network)
    read = read_by_cloud_init(files, tmp_path)
    wanted = yaml.safe_load(files["network-config"])["network"]
    assert read["network"] == wanted
    assert yaml.safe_load(read["netplan"])["network"] == wanted


@pytest.mark.parametrize("text", ["a: b", "null", "1e3", "yes", "x\ny: z", "{% raw %}", "é😀", "'\"", "\u2028"])
def test_cloud_init_takes_no_text_for_anything_else(text: str, tmp_path: Path) -> None:
    nic = Nic("net0", "12:34:56:10:20:30", dhcp4=True, dns_servers=("1.1.1.1",), dns_search=(text,))
    read = read_by_cloud_init(seed(USER_DATA, meta_data(text, text), Network((nic,))), tmp_path)
    assert (read["meta"]["instance-id"], read["meta"]["local-hostname"]) == (text, text)
    assert read["network"]["ethernets"]["eth0"]["nameservers"]["search"] == [text]


@pytest.fixture
def disc(tmp_path: Path) -> tuple[Path, dict[str, bytes]]:
    """A CD image for a machine, and what is on it."""
    files = dict(seed(b"#cloud-config\n" * 9000, meta_data(UUID, "web-1"), Network((FIRST, SECOND))))
    path = tmp_path / "user-data.iso"
    path.write_bytes(image(LABEL, files, MADE))
    return path, files


def test_the_system_finds_the_disc_by_its_label(disc: tuple[Path, dict[str, bytes]]) -> None:
    blkid = shutil.which("blkid", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if blkid is None:
        pytest.skip("there is no blkid, by which cloud-init finds its disc")
    said = subprocess.run(
        [blkid, "-p", "-o", "export", disc[0]], capture_output=True, text=True, timeout=60, check=True
    )
    assert {"LABEL=cidata", "TYPE=iso9660"} <= set(said.stdout.split())


def test_libarchive_reads_the_disc(disc: tuple[Path, dict[str, bytes]]) -> None:
    name = ctypes.util.find_library("archive")
    if name is None:
        pytest.skip("there is no libarchive")
    assert _unpacked(ctypes.CDLL(name), disc[0]) == disc[1]


@pytest.mark.parametrize("extension", ["-R", "-J"], ids=["Rock Ridge", "Joliet"])
def test_isoinfo_reads_the_disc(disc: tuple[Path, dict[str, bytes]], extension: str) -> None:
    isoinfo = program("isoinfo")
    if isoinfo is None:
        pytest.skip("there is no isoinfo")
    path, files = disc
    for name, content in files.items():
        asked = [str(isoinfo), extension, "-i", str(path), "-x", f"/{name}"]
        assert subprocess.run(asked, capture_output=True, timeout=60, check=True).stdout == content


def _unpacked(library: ctypes.CDLL, path: Path) -> dict[str, bytes]:
    for function in ("archive_read_new", "archive_entry_pathname", "archive_error_string"):
        getattr(library, function).restype = ctypes.c_char_p if function != "archive_read_new" else ctypes.c_void_p
    library.archive_read_data.restype = ctypes.c_ssize_t
    library.archive_entry_size.restype = ctypes.c_int64
    archive = ctypes.c_void_p(library.archive_read_new())
    library.archive_read_support_format_iso9660(archive)
    assert library.archive_read_open_filename(archive, str(path).encode(), ctypes.c_size_t(10240)) == 0
    entry = ctypes.c_void_p()
    files: dict[str, bytes] = {}
    while (code := library.archive_read_next_header(archive, ctypes.byref(entry))) == 0:
        name = library.archive_entry_pathname(entry).decode()
        content = ctypes.create_string_buffer(max(1, library.archive_entry_size(entry)))
        read = library.archive_read_data(archive, content, ctypes.c_size_t(len(content)))
        if name != ".":
            files[name] = content.raw[:read]
    assert code == 1, library.archive_error_string(archive)
    library.archive_read_free(archive)
    return files
