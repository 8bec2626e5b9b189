"""`nagaya tenant`: what can be said without a management API."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from click.testing import CliRunner

from nagaya.cli.main import main
from nagaya.controlplane.hosted.data_store.snapshots import Entry
from support.tenant_archives import copy_of, write


def test_an_archive_says_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "shop.tenant"
    write(file, asyncio.run(copy_of([Entry(b"pods/a", b"1"), Entry(b"pods/b", b"2")])))
    result = CliRunner().invoke(main, ["tenant", "verify", str(file)])

    assert result.exit_code == 0
    assert result.output == (
        f"{file} is whole: nagaya.tenant-archive/1, made 2030-01-02T03:04:05+00:00.\n"
        "Cluster team/shop, Kubernetes v1.36.3, DataStore default.\n"
        "2 keys of revision 41; Secrets: shop-ca.\n"
    )


def test_an_archive_tells_programs_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "shop.tenant"
    write(file, asyncio.run(copy_of([Entry(b"pods/a", b"secret")])))
    result = CliRunner().invoke(main, ["tenant", "verify", str(file), "-o", "json"])
    told = json.loads(result.output)
    assert told["file"] == str(file)
    assert (told["namespace"], told["cluster"], told["dataStore"]) == ("team", "shop", "default")
    assert (told["keys"], told["revision"], told["secrets"]) == (1, 41, ["shop-ca"])


def test_a_damaged_archive_is_refused_before_the_management_api_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "shop.tenant"
    write(file, asyncio.run(copy_of([])))
    file.write_bytes(file.read_bytes()[:-9])
    config = tmp_path / "kubeconfig"
    config.write_text(
        "{clusters: [{name: a, cluster: {server: 'https://127.0.0.1:9'}}], users: [{name: a, user: {}}],"
        " contexts: [{name: a, context: {cluster: a, user: a}}], current-context: a}"
    )
    result = CliRunner().invoke(main, ["tenant", "restore", str(file), "--kubeconfig", str(config)])

    assert result.exit_code == 1
    assert "shop.tenant: the archive is damaged" in result.output


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path: Path) -> None:
    words = ["tenant", "backup", "shop", "--to", str(tmp_path / "x"), "--kubeconfig", str(tmp_path / "none")]
    result = CliRunner().invoke(main, words)

    assert result.exit_code == 1
    assert "none" in result.output
    assert list(tmp_path.iterdir()) == []
