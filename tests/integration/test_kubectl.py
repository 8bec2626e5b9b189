"""kubectl, unmodified: reading, applying, changing, waiting and deleting do what people expect."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest
import yaml

from integration.conftest import TOOL_TIMEOUT, Tool
from support.boats import BOAT, CONFIG_MAP


def read_until(process: subprocess.Popen[str], pattern: str, seconds: float = TOOL_TIMEOUT) -> str:
    """What a background command prints up to a line that matches. Kills a command that does not print it."""
    assert process.stdout is not None
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if re.search(pattern, line):
                return "".join(lines)
    finally:
        timer.cancel()
    raise AssertionError(f"no line matched {pattern!r} in:\n{''.join(lines)}")


def editor(path: Path, expression: str) -> str:
    """A program that edits the file it is given with sed."""
    path.write_text(f"#!/bin/sh\nexec sed -i '{expression}' \"$1\"\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


# --- reading


def test_get_prints_a_table(kubectl: Tool, settings: str) -> None:
    lines = kubectl("get", settings).splitlines()
    assert lines[0].split() == ["NAME", "DATA", "AGE"]
    assert lines[1].split()[:2] == ["settings", "2"]


def test_get_wide_has_more_columns_and_headers_can_be_left_out(kubectl: Tool, boat: str) -> None:
    assert kubectl("get", boat).splitlines()[0].split() == ["NAME", "OARS"]
    assert kubectl("get", boat, "-o", "wide").splitlines()[0].split() == ["NAME", "OARS", "COLOUR"]
    assert kubectl("get", boat, "-o", "wide", "--no-headers").split() == ["swan", "2", "blue"]


def test_get_yaml_and_json_show_the_same_object(kubectl: Tool, settings: str) -> None:
    from_yaml = yaml.safe_load(kubectl("get", settings, "-o", "yaml"))
    assert from_yaml == json.loads(kubectl("get", settings, "-o", "json"))
    assert from_yaml["data"] == {"colour": "red", "size": "small"}


def test_get_selects_by_label_field_path_and_order(kubectl: Tool) -> None:
    for name, colour in (("a", "red"), ("b", "blue"), ("c", "red")):
        kubectl("create", "configmap", name)
        kubectl("label", "configmap", name, f"colour={colour}")
    assert kubectl("get", "cm", "-l", "colour=red", "-o", "name").split() == ["configmap/a", "configmap/c"]
    assert kubectl("get", "cm", "-l", "colour notin (red),colour", "-o", "name").split() == ["configmap/b"]
    assert kubectl("get", "cm", "--field-selector", "metadata.name=b", "-o", "name").split() == ["configmap/b"]
    by_colour = kubectl("get", "cm", "-l", "colour", "--sort-by=.metadata.labels.colour", "-o", "name")
    assert by_colour.split() == ["configmap/b", "configmap/a", "configmap/c"]
    table = kubectl("get", "cm", "-l", "colour", "-L", "colour", "--show-kind")
    assert table.splitlines()[0].split() == ["NAME", "DATA", "AGE", "COLOUR"]


def test_get_pages_through_long_lists(kubectl: Tool) -> None:
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "n-", "labels": {"l": ""}}}
    kubectl("create", "-f", "-", input="\n---\n".join([json.dumps(one)] * 7))
    assert len(kubectl("get", "cm", "-l", "l", "--chunk-size=3", "-o", "name").split()) == 7


def test_get_watch_prints_changes_as_they_come(kubectl: Tool, settings: str) -> None:
    watching = kubectl.start("get", "cm", "settings", "-w", "-o", 'jsonpath={.data.colour}{"\\n"}')
    try:
        read_until(watching, "^red$")
        kubectl("patch", settings, "--type=merge", "-p", '{"data":{"colour":"green"}}')
        read_until(watching, "^green$")
    finally:
        watching.kill()
        watching.communicate()


def test_get_of_nothing_says_so(kubectl: Tool) -> None:
    assert "No resources found" in kubectl.warns("get", "secrets")
    assert '(NotFound): secrets "nope" not found' in kubectl.fails("get", "secret", "nope")
    assert "the server doesn't have a resource type" in kubectl.fails("get", "unicorns")


def test_describe_tells_about_an_object(kubectl: Tool, settings: str, boat: str) -> None:
    described = kubectl("describe", settings)
    assert re.search(r"Name:\s+settings", described)
    assert re.search(r"colour:\n----\nred", described)
    assert re.search(r"Oars:\s+2", kubectl("describe", boat))
    assert re.search(r"Status:\s+Active", kubectl("describe", "namespace", kubectl.namespace))


def test_explain_knows_built_ins_and_custom_resources(kubectl: Tool, group: str) -> None:
    assert re.search(r"data\s+<map\[string\]string>", kubectl("explain", "configmap"))
    assert re.search(r"FIELD:\s+replicas\s+<integer>", kubectl("explain", "deployment.spec.replicas"))
    boats = ("explain", f"--api-version={group}/v1")
    explained = kubectl(*boats, "boats.spec")
    assert "What the boat shall be." in explained
    assert re.search(r"oars\s+<integer>\s+-required-", explained)
    assert "crew" in kubectl(*boats, "boats", "--recursive")
    assert 'field "nope" does not exist' in kubectl.fails(*boats, "boats.nope")


def test_api_resources_and_versions_list_what_is_served(kubectl: Tool, group: str) -> None:
    resources = kubectl("api-resources", "-o", "wide", "--no-headers")
    assert re.search(rf"^boats\s+bt\s+{group}/v1\s+true\s+Boat\s+\S*delete,\S*\s+fleet", resources, re.MULTILINE)
    assert re.search(r"^configmaps\s+cm\s+v1\s+true\s+ConfigMap", resources, re.MULTILINE)
    assert "namespaces" in kubectl("api-resources", "--namespaced=false", "-o", "name").split()
    versions = kubectl("api-versions").split()
    assert {"v1", "apps/v1", "rbac.authorization.k8s.io/v1", f"{group}/v1"} <= set(versions)


def test_version_and_cluster_info_name_the_server(kubectl: Tool) -> None:
    version = json.loads(kubectl("version", "-o", "json"))
    assert re.match(r"v1\.\d+", version["serverVersion"]["gitVersion"])
    assert re.search(r"control plane.*is running at.*https://127\.0\.0\.1", kubectl("cluster-info"))


def test_raw_paths_answer(kubectl: Tool) -> None:
    assert kubectl("get", "--raw", "/healthz") == "ok"
    assert kubectl("get", "--raw", "/readyz?verbose").rstrip().endswith("readyz check passed")
    assert json.loads(kubectl("get", "--raw", "/api"))["kind"] == "APIVersions"


# --- applying


def test_apply_on_the_client_side_creates_configures_and_forgets(kubectl: Tool, settings: str) -> None:
    assert kubectl("apply", "-f", "-", input=CONFIG_MAP).strip() == "configmap/settings unchanged"
    changed = CONFIG_MAP.replace("  size: small\n", "  shape: round\n")
    assert kubectl("apply", "-f", "-", input=changed).strip() == "configmap/settings configured"
    found = kubectl.object("get", settings)
    assert found["data"] == {"colour": "red", "shape": "round"}
    assert "kubectl.kubernetes.io/last-applied-configuration" in found["metadata"]["annotations"]


def test_apply_with_prune_removes_what_is_no_longer_there(kubectl: Tool) -> None:
    labelled = CONFIG_MAP.replace("  name: settings", "  name: $N\n  labels: {set: one}")
    both = labelled.replace("$N", "one") + "---" + labelled.replace("$N", "two")
    prune = ("--prune", "-l", "set=one", "--prune-allowlist=core/v1/ConfigMap")
    kubectl("apply", *prune, "-f", "-", input=both)
    assert "configmap/two pruned" in kubectl("apply", *prune, "-f", "-", input=labelled.replace("$N", "one"))
    assert kubectl("get", "cm", "-l", "set=one", "-o", "name").split() == ["configmap/one"]


def test_apply_on_the_server_side_finds_conflicts_and_forces(kubectl: Tool) -> None:
    first = ("apply", "--server-side", "--field-manager=first", "-f", "-")
    second = ("apply", "--server-side", "--field-manager=second", "-f", "-")
    assert kubectl(*first, input=CONFIG_MAP).strip() == "configmap/settings serverside-applied"
    other = CONFIG_MAP.replace("red", "blue").replace("  size: small\n", "")
    complaint = kubectl.fails(*second, input=other)
    assert 'conflict with "first"' in complaint
    assert ".data.colour" in complaint
    kubectl(*second, "--force-conflicts", input=other)
    found = kubectl.object("get", "cm", "settings", "--show-managed-fields")
    assert found["data"] == {"colour": "blue", "size": "small"}
    owned = {entry["manager"]: entry["fieldsV1"]["f:data"] for entry in found["metadata"]["managedFields"]}
    assert owned == {"first": {"f:size": {}}, "second": {"f:colour": {}}}


def test_apply_on_the_server_side_merges_lists_of_custom_resources_by_key(kubectl: Tool, group: str) -> None:
    apply = ("apply", "--server-side", "-f", "-", "--field-manager")
    with_crew = BOAT.replace("$GROUP", group) + "  crew:\n  - {name: $N, seat: 1}\n"
    kubectl(*apply, "one", input=with_crew.replace("$N", "ann"))
    kubectl(*apply, "two", input=with_crew.replace("$N", "bob"))
    kubectl(*apply, "one", input=BOAT.replace("$GROUP", group))
    assert kubectl.object("get", f"boats.{group}", "swan")["spec"]["crew"] == [{"name": "bob", "seat": 1}]


def test_apply_dry_run_changes_nothing(kubectl: Tool) -> None:
    for mode, told in (("client", "(dry run)"), ("server", "(server dry run)")):
        assert told in kubectl("apply", f"--dry-run={mode}", "-f", "-", input=CONFIG_MAP)
    assert "NotFound" in kubectl.fails("get", "cm", "settings")


def test_apply_refuses_unknown_fields_unless_told_otherwise(kubectl: Tool, boat: str, group: str) -> None:
    wrong = BOAT.replace("$GROUP", group) + "  sails: 1\n"
    assert 'unknown field "spec.sails"' in kubectl.fails("apply", "-f", "-", input=wrong)
    assert 'unknown field "spec.sails"' in kubectl.warns("apply", "--validate=warn", "-f", "-", input=wrong)
    kubectl("apply", "--validate=ignore", "-f", "-", input=wrong)
    assert 'unknown field "wrong"' in kubectl.fails("apply", "-f", "-", input=CONFIG_MAP + "wrong: true\n")


def test_diff_shows_what_would_change(kubectl: Tool, settings: str) -> None:
    changed = CONFIG_MAP.replace("red", "blue")
    for way in ("--server-side=false", "--server-side"):
        extra = () if way == "--server-side=false" else ("--force-conflicts",)
        done = kubectl.run(["diff", way, *extra, "-f", "-"], changed)
        assert done.returncode == 1, done.stderr
        assert re.search(r"^-  colour: red\n\+  colour: blue$", done.stdout, re.MULTILINE)
    assert kubectl.run(["diff", "-f", "-"], CONFIG_MAP).returncode == 0
    assert kubectl.object("get", settings)["data"]["colour"] == "red"


def test_replace_puts_another_object_in_its_place(kubectl: Tool, settings: str) -> None:
    kubectl("replace", "-f", "-", input=CONFIG_MAP.replace("  size: small\n", ""))
    assert kubectl.object("get", settings)["data"] == {"colour": "red"}
    kubectl("replace", "--force", "-f", "-", input=CONFIG_MAP)
    assert kubectl.object("get", settings)["data"] == {"colour": "red", "size": "small"}


# --- changing


def test_edit_saves_what_the_editor_leaves(kubectl: Tool, settings: str, tmp_path: Path) -> None:
    program = editor(tmp_path / "editor", "s/colour: red/colour: black/")
    assert "configmap/settings edited" in kubectl("edit", settings, EDITOR=program)
    assert kubectl.object("get", settings)["data"]["colour"] == "black"
    done = kubectl.run(["edit", settings], environment={"EDITOR": "true"})
    assert "no changes made" in done.stdout + done.stderr


def test_edit_of_a_subresource_changes_only_that(kubectl: Tool, boat: str, tmp_path: Path) -> None:
    kubectl("patch", boat, "--subresource=status", "--type=merge", "-p", '{"status":{"oars":2}}')
    program = editor(tmp_path / "editor", "s/oars: 2/oars: 3/")
    kubectl("edit", boat, "--subresource=status", EDITOR=program)
    found = kubectl.object("get", boat)
    assert (found["spec"]["oars"], found["status"]["oars"]) == (2, 3)


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("merge", '{"data":{"colour":"green"}}'),
        ("strategic", '{"data":{"colour":"green"}}'),
        ("json", '[{"op":"replace","path":"/data/colour","value":"green"}]'),
    ],
    ids=["merge", "strategic", "json"],
)
def test_patch_of_each_type(kubectl: Tool, settings: str, kind: str, patch: str) -> None:
    assert kubectl("patch", settings, f"--type={kind}", "-p", patch).strip() == "configmap/settings patched"
    assert kubectl.object("get", settings)["data"] == {"colour": "green", "size": "small"}
    assert "(no change)" in kubectl("patch", settings, f"--type={kind}", "-p", patch)


def test_a_strategic_patch_of_a_deployment_merges_containers(kubectl: Tool) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "busybox"}]}}}}
    kubectl("patch", "deployment", "web", "-p", json.dumps(patch))
    containers = kubectl.object("get", "deployment", "web")["spec"]["template"]["spec"]["containers"]
    assert [each["name"] for each in containers] == ["side", "nginx"]


def test_a_custom_resource_cannot_be_patched_strategically(kubectl: Tool, boat: str) -> None:
    complaint = kubectl.fails("patch", boat, "--type=strategic", "-p", '{"spec":{"oars":4}}')
    assert "application/strategic-merge-patch+json is not supported" in complaint


def test_labels_and_annotations_are_set_changed_listed_and_removed(kubectl: Tool, settings: str) -> None:
    kubectl("label", settings, "tier=one", "env=test")
    assert "'tier' already has a value" in kubectl.fails("label", settings, "tier=two")
    kubectl("label", settings, "tier=two", "--overwrite")
    kubectl("label", settings, "env-")
    assert kubectl("label", settings, "--list").strip() == "tier=two"
    kubectl("annotate", settings, "note=hello")
    assert kubectl.object("get", settings)["metadata"]["annotations"]["note"] == "hello"
    kubectl("annotate", settings, "note-")
    assert "note" not in kubectl.object("get", settings)["metadata"]["annotations"]


def test_scale_of_a_custom_resource(kubectl: Tool, boat: str) -> None:
    assert "scaled" in kubectl("scale", boat, "--replicas=4")
    assert kubectl.object("get", boat)["spec"]["oars"] == 4
    assert "Expected replicas to be 2, was 4" in kubectl.fails("scale", boat, "--current-replicas=2", "--replicas=6")
    assert kubectl("get", boat, "--subresource=scale", "-o", "jsonpath={.spec.replicas}") == "4"
    assert "spec.oars" in kubectl.fails("scale", boat, "--replicas=99")


def test_get_shows_the_scale_as_a_table(kubectl: Tool, boat: str) -> None:
    kubectl("create", "deployment", "scaled", "--image=none", "--replicas=3")
    for named in (boat, "deployment/scaled"):
        header, row = kubectl("get", named, "--subresource=scale").splitlines()
        assert header.split() == ["NAME", "DESIRED", "AVAILABLE", "AGE"]
        assert row.split()[0] == named.partition("/")[2]
    assert row.split()[1:3] == ["3", "0"]


def test_scale_of_a_deployment(kubectl: Tool) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("scale", "deployment/web", "--replicas=3")
    assert kubectl.object("get", "deployment", "web")["spec"]["replicas"] == 3


def test_set_changes_parts_of_objects(kubectl: Tool) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("set", "image", "deployment/web", "nginx=nginx:2")
    kubectl("set", "env", "deployment/web", "MODE=fast")
    container = kubectl.object("get", "deployment", "web")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "nginx:2"
    assert container["env"] == [{"name": "MODE", "value": "fast"}]
    kubectl("create", "rolebinding", "readers", "--clusterrole=view", "--user=ann")
    kubectl("set", "subject", "rolebinding/readers", "--user=bob")
    assert [each["name"] for each in kubectl.object("get", "rolebinding", "readers")["subjects"]] == ["ann", "bob"]


# --- waiting and deleting


def test_wait_for_a_condition_a_field_and_a_deletion(kubectl: Tool, boat: str) -> None:
    waiting = kubectl.start("wait", boat, "--for=condition=Ready", "--timeout=200s")
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    kubectl("patch", boat, "--subresource=status", "--type=merge", "-p", json.dumps(status))
    assert "condition met" in waiting.communicate(timeout=TOOL_TIMEOUT)[0]
    kubectl("wait", boat, "--for=jsonpath={.spec.oars}=2", "--timeout=200s")
    assert "timed out" in kubectl.fails("wait", boat, "--for=condition=Sunk", "--timeout=1s")
    waiting = kubectl.start("wait", boat, "--for=delete", "--timeout=200s")
    kubectl("delete", boat, "--wait=false")
    assert waiting.communicate(timeout=TOOL_TIMEOUT)[0] in ("", f"boat.{boat.removeprefix('boats.')} condition met\n")
    assert waiting.returncode == 0


def test_delete_waits_for_finalizers(kubectl: Tool, settings: str) -> None:
    kubectl("patch", settings, "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/hold"]}}')
    deleting = kubectl.start("delete", settings, "--wait=true", "--timeout=200s")
    kubectl("wait", settings, "--for=jsonpath={.metadata.deletionTimestamp}", "--timeout=200s")
    assert deleting.poll() is None
    kubectl("patch", settings, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert deleting.communicate(timeout=TOOL_TIMEOUT)[0].startswith('configmap "settings" deleted')
    assert deleting.returncode == 0
    assert kubectl("delete", settings, "--ignore-not-found") == ""


def test_delete_by_selector_and_all(kubectl: Tool) -> None:
    for name in ("a", "b", "c"):
        kubectl("create", "secret", "generic", name)
    kubectl("label", "secret", "a", "b", "group=x")
    kubectl("delete", "secret", "-l", "group=x")
    assert kubectl("get", "secrets", "-o", "name").split() == ["secret/c"]
    kubectl("delete", "secrets", "--all")
    assert kubectl("get", "secrets", "-o", "name") == ""


def test_delete_takes_dependents_along_or_leaves_them(kubectl: Tool, settings: str) -> None:
    uid = kubectl.object("get", settings)["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": uid}
    child = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "child", "ownerReferences": [owner]}}
    kubectl("create", "-f", "-", input=json.dumps(child))
    kubectl("delete", settings, "--cascade=orphan")
    assert "ownerReferences" not in kubectl.object("get", "secret", "child")["metadata"]
    kubectl("apply", "-f", "-", input=CONFIG_MAP)
    owner["uid"] = kubectl.object("get", settings)["metadata"]["uid"]
    patch = json.dumps({"metadata": {"ownerReferences": [owner]}})
    kubectl("patch", "secret", "child", "--type=merge", "-p", patch)
    kubectl("delete", settings, "--cascade=foreground", "--timeout=200s")
    assert "NotFound" in kubectl.fails("get", "secret", "child")


def test_a_deleted_namespace_takes_everything_in_it_along(kubectl: Tool) -> None:
    name = f"{kubectl.namespace}-two"
    kubectl("create", "namespace", name)
    kubectl("create", "configmap", "a", "-n", name)
    kubectl("delete", "namespace", name, "--timeout=200s")
    assert "NotFound" in kubectl.fails("get", "namespace", name)
    assert kubectl("get", "cm", "-n", name, "-o", "name") == ""


# --- definitions


def test_the_life_of_a_definition(kubectl: Tool, group: str) -> None:
    kubectl("create", "-f", "-", input=BOAT.replace("$GROUP", group))
    assert kubectl("get", "bt", "-o", "name").strip() == f"boat.{group}/swan"
    assert kubectl("get", "fleet", "-o", "name").strip() == f"boat.{group}/swan"
    bad = BOAT.replace("$GROUP", group).replace("swan", "duck").replace("oars: 2", "oars: 9")
    complaint = kubectl.fails("create", "-f", "-", input=bad)
    assert "spec.oars: Invalid value: 9: spec.oars in body should be less than or equal to 8" in complaint
    crd = f"crd/boats.{group}"
    column = {"name": "Crew", "type": "string", "jsonPath": ".spec.crew[*].name"}
    patch = [{"op": "add", "path": "/spec/versions/0/additionalPrinterColumns/-", "value": column}]
    kubectl("patch", crd, "--type=json", "-p", json.dumps(patch))
    deadline = time.monotonic() + TOOL_TIMEOUT
    while kubectl("get", "bt").splitlines()[0].split() != ["NAME", "OARS", "CREW"]:
        assert time.monotonic() < deadline, "the new column does not show"
        time.sleep(0.1)
    kubectl("delete", crd, "--timeout=200s")
    assert "NotFound" in kubectl.fails("get", crd)
    assert "could not find the requested resource" in kubectl.fails("get", "--raw", f"/apis/{group}/v1/boats")
