from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.failure import Failure
from nagaya.simulators.proxmox.qemu import text
from nagaya.simulators.proxmox.qemu.configuration import UNUSED, Configuration, read, write
from nagaya.simulators.proxmox.state.guest import Guest

DISK = "store:100/vm-100-disk-0.qcow2"


def test_digests_are_those_of_pve() -> None:
    new = Configuration(100, {"lock": "create"})
    clone = Configuration(100, {"lock": "clone", "description": " qmclone temporary file"})
    assert text.digest(new.text()) == "a7e9f8c42935261b36fcd1d7d6cd8cd41648da49"
    assert text.digest(clone.text()) == "eb54fb9d9f120ba0c3bdf694f73b10002c375c38"


def test_a_file_has_its_sections_in_order() -> None:
    configuration = Configuration(
        100,
        {"name": "a", "description": "first\nüber: 50%", "ide2": "store:100/vm-100-cloudinit.qcow2,media=cdrom"},
        {"memory": "96"},
        {"kvm": False, "scsi1": True},
        {"ciuser": "old", "added": "ipconfig0"},
        {"s1": {"name": "a", "snaptime": 5}},
    )
    assert configuration.text() == (
        "#first\n"
        "#%C3%BCber%3A 50%25\n"
        "ide2: store:100/vm-100-cloudinit.qcow2,media=cdrom\n"
        "name: a\n"
        "\n[PENDING]\n"
        "delete: kvm,!scsi1\n"
        "memory: 96\n"
        "\n[special:cloudinit]\n"
        "added: ipconfig0\n"
        "ciuser: old\n"
        "\n[s1]\n"
        "name: a\n"
        "snaptime: 5\n"
    )


def test_values_read_back_have_the_type_of_their_option() -> None:
    guest = Guest(100, "pve1")
    write(guest, Configuration(100, {"memory": 64, "kvm": False, "cores": "2", "onboot": "yes", "cpulimit": "1.5"}))
    assert guest.config == {"memory": "64", "kvm": 0, "cores": 2, "onboot": 1, "cpulimit": "1.5"}


def test_an_empty_value_reads_back_as_a_blank() -> None:
    guest = Guest(100, "pve1")
    write(guest, Configuration(100, {"boot": "", "tags": "", "description": ""}))
    assert guest.config == {"boot": " ", "tags": " "}


def test_an_empty_value_that_cannot_be_read_back_is_none() -> None:
    guest = Guest(100, "pve1", {"sshkeys": "ssh-ed25519%20AAAA"})
    configuration = read(guest)
    configuration.pending |= {"sshkeys": "", "affinity": "", "ciuser": "", "description": None}
    write(guest, configuration)
    assert guest.config == {"sshkeys": "ssh-ed25519%20AAAA"}
    assert guest.pending == {"ciuser": " "}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"onboot": None}, "unable to parse value of 'onboot' - got undefined value\n"),
        ({"name": "a\nb"}, "unable to parse value of 'name' - property contains a line feed\n"),
        ({"cores": "two"}, "unable to parse value of 'cores' - type check ('integer') failed - got 'two'\n"),
        ({"nonsense": 1}, "unable to parse value of 'nonsense' - unknown setting 'nonsense'\n"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_changes_nothing(options: dict[str, object], message: str) -> None:
    guest = Guest(100, "pve1", {"name": "old"})
    with pytest.raises(Failure) as raised:
        write(guest, Configuration(100, options))
    assert raised.value.message == message
    assert guest.config == {"name": "old"}


def test_a_copy_that_is_not_written_changes_nothing() -> None:
    guest = Guest(100, "pve1", {"memory": "64"})
    configuration = read(guest)
    configuration.options["memory"] = "96"
    configuration.snapshots["s1"] = {}
    assert (guest.config, guest.snapshots) == ({"memory": "64"}, {})
    before = configuration.digest
    write(guest, configuration)
    assert configuration.digest != before == text.digest("memory: 64\n")


def test_a_disk_that_is_used_again_is_no_longer_unused() -> None:
    guest = Guest(100, "pve1")
    write(guest, Configuration(100, {"unused0": DISK, "scsi0": f"{DISK},size=1G"}))
    assert "unused0" not in guest.config


def test_unused_disks_take_the_lowest_number_and_are_kept_once() -> None:
    configuration = Configuration(100, {"unused1": "store:100/a.raw"})
    assert configuration.add_unused(DISK) == "unused0"
    assert configuration.add_unused(DISK) is None
    full = Configuration(100, {f"unused{number}": f"store:100/{number}.raw" for number in range(UNUSED)})
    with pytest.raises(Failure, match="Too many unused volumes"):
        full.add_unused(DISK)


def test_waiting_changes_are_merged_for_readers() -> None:
    configuration = Configuration(
        100, {"memory": "64", "kvm": 0, "name": "a"}, {"memory": "96"}, {"kvm": False, "name": False}
    )
    assert configuration.current() == {"memory": "96", "kvm": 0}


def test_changes_that_change_nothing_are_forgotten() -> None:
    configuration = Configuration(100, {"memory": "64"}, {"memory": "64", "cores": 2}, {"tags": False})
    assert configuration.clean_pending()
    assert (configuration.pending, configuration.deletions) == ({"cores": 2}, {})
    assert not configuration.clean_pending()


@given(st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"]), max_size=60))
def test_a_line_of_a_description_is_plain_in_the_file(line: str) -> None:
    encoded = text.encoded(line)
    assert encoded.isascii()
    assert ":" not in encoded


def test_a_description_is_escaped_byte_by_byte_but_for_plain_letters() -> None:
    assert text.encoded(" $%&9:;~\x7f\t") == " $%25&9%3A;~%7F%09"
    assert text.encoded("é€\udc80") == "%C3%A9%E2%82%AC%ED%B2%80"


def test_the_old_number_of_processors_is_one_of_sockets() -> None:
    guest = Guest(100, "pve1")
    write(guest, Configuration(100, {"smp": 3, "cores": 2}))
    assert guest.config == {"sockets": 3}
    write(guest, Configuration(100, {"smp": 3, "cores": 2, "sockets": 1}))
    assert guest.config == {"cores": 2, "sockets": 1}
