"""Kubeconfigs of tenants: written and merged without harm to what is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.cli.get_kubeconfig import expect_harmless, merged_into, parsed, renamed, written
from nagaya.cli.output.ended import Ended


def kubeconfig(name: str, server: str = "https://10.0.0.1:6443", token: str = "secret") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": f"{name}-admin", "user": {"token": token}}],
        "contexts": [{"name": f"{name}-admin@{name}", "context": {"cluster": name, "user": f"{name}-admin"}}],
        "current-context": f"{name}-admin@{name}",
    }


def read(file: Path) -> dict[str, Any]:
    content = yaml.safe_load(file.read_text())
    assert isinstance(content, dict)
    return content


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A kubeconfig of one's own."""
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump({**kubeconfig("mine"), "preferences": {"colors": True}}))
    return file


def test_entries_are_added_and_the_rest_stays(own: Path) -> None:
    before = own.read_text()
    done = merged_into(own, kubeconfig("demo"), None, use=False, force=False)
    content = read(own)
    assert [each["name"] for each in content["clusters"]] == ["mine", "demo"]
    assert content["current-context"] == "mine-admin@mine"
    assert content["preferences"] == {"colors": True}
    assert (done.context, done.current) == ("demo-admin@demo", False)
    assert "kubectl --context demo-admin@demo get nodes" in done.sentence
    assert done.backup is not None
    assert done.backup.read_text() == before
    assert [own.stat().st_mode & 0o777, done.backup.stat().st_mode & 0o777] == [0o600, 0o600]
    assert sorted(each.name for each in own.parent.iterdir()) == ["config", "config.backup"]


def test_a_file_that_does_not_exist_is_made_and_used(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "config"
    done = merged_into(file, kubeconfig("demo"), None, use=False, force=False)
    assert read(file)["current-context"] == "demo-admin@demo"
    assert done.backup is None
    assert done.current


def test_credentials_are_renewed_in_place(own: Path) -> None:
    for token in ("old", "new"):
        merged_into(own, kubeconfig("demo", token=token), None, use=True, force=False)
    content = read(own)
    assert [each["user"]["token"] for each in content["users"]] == ["secret", "new"]
    assert content["current-context"] == "demo-admin@demo"


def test_a_name_that_leads_elsewhere_is_not_taken_over_unasked(own: Path) -> None:
    before = own.read_text()
    with pytest.raises(Ended, match=r"another cluster called mine.*--as.*--force.*Nothing was changed") as refused:
        merged_into(own, kubeconfig("mine", "https://10.9.9.9:6443"), None, use=True, force=False)
    assert "secret" not in str(refused.value)
    assert own.read_text() == before
    assert [each.name for each in own.parent.iterdir()] == ["config"]
    merged_into(own, kubeconfig("mine", "https://10.9.9.9:6443"), None, use=True, force=True)
    assert read(own)["clusters"][0]["cluster"]["server"] == "https://10.9.9.9:6443"


def test_another_name_is_that_of_all_three(own: Path) -> None:
    merged_into(own, kubeconfig("mine", "https://10.9.9.9:6443"), "team-a", use=False, force=False)
    content = read(own)
    assert content["contexts"][1] == {"name": "team-a", "context": {"cluster": "team-a", "user": "team-a"}}
    assert [each["name"] for each in content["users"]] == ["mine-admin", "team-a"]


def test_a_file_that_somebody_writes_is_left_alone(own: Path) -> None:
    lock = own.with_name("config.lock")
    lock.touch()
    with pytest.raises(Ended, match=r"config\.lock exists"):
        merged_into(own, kubeconfig("demo"), None, use=False, force=False)
    assert lock.exists()
    assert len(read(own)["clusters"]) == 1


def test_a_link_stays_a_link(own: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(own)
    merged_into(link, kubeconfig("demo"), None, use=False, force=False)
    assert link.is_symlink()
    assert len(read(own)["clusters"]) == 2


@pytest.mark.parametrize("text", ["{", "[]", "clusters: 5"])
def test_a_file_that_is_no_kubeconfig_is_not_touched(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(Ended):
        merged_into(file, kubeconfig("demo"), None, use=False, force=False)
    assert file.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["config"]


@pytest.mark.parametrize(
    "trap",
    [
        "users: [{name: u, user: {exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}}}]",
        "users: [{name: u, user: {token: t}}, {name: v, user: {exec: {command: sh}}}]",
        "x: &a {exec: {command: sh}}\nusers: [{name: u, user: {<<: *a}}]",
        "users: [{name: u, user: {!!binary ZXhlYw==: {command: sh}}}]",
        "users: [{name: u, user: {auth-provider: {name: gcp, config: {cmd-path: /bin/sh}}}}]",
        "users: [{name: u, user: {tokenFile: /root/.ssh/id_rsa}}]",
        "users: [{name: u, user: {client-certificate: /a, client-key: /b}}]",
        "clusters: [{name: c, cluster: {certificate-authority: /etc/passwd}}]",
    ],
)
def test_a_kubeconfig_of_a_tenant_runs_no_programs_of_its_reader(trap: str) -> None:
    with pytest.raises(Ended, match=r"kubeconfig in Secret team-a/demo-kubeconfig is not used"):
        expect_harmless(parsed(trap), "Secret team-a/demo-kubeconfig")


def test_a_kubeconfig_with_inline_credentials_is_harmless() -> None:
    expect_harmless(kubeconfig("exec"), "Secret team-a/demo-kubeconfig")


def test_a_kubeconfig_without_a_context_cannot_be_merged() -> None:
    with pytest.raises(Ended, match="no context"):
        renamed({**kubeconfig("demo"), "current-context": "other"}, None)


def test_a_file_is_only_replaced_on_demand(tmp_path: Path) -> None:
    file = tmp_path / "demo.kubeconfig"
    written(file, "first", force=False)
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Ended, match="--force"):
        written(file, "second", force=False)
    written(file, "second", force=True)
    assert file.read_text() == "second"
    with pytest.raises(Ended, match="cannot be written"):
        written(tmp_path / "no" / "such" / "folder", "x", force=False)
    assert os.listdir(tmp_path) == ["demo.kubeconfig"]
