"""Helm, unmodified: a chart without pods through its whole life."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.conftest import Tool

TEMPLATES = {
    "config.yaml": """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-config
  labels: {app.kubernetes.io/managed-by: {{ .Release.Service }}}
data:
  colour: {{ .Values.colour | quote }}
  revision: {{ .Release.Revision | quote }}
  version: {{ .Capabilities.KubeVersion.Major | quote }}
{{- if .Capabilities.APIVersions.Has "rbac.authorization.k8s.io/v1/Role" }}
  roles: served
{{- end }}
""",
    "secret.yaml": """
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-secret
stringData:
  password: {{ .Values.password }}
""",
    "account.yaml": """
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
""",
    "role.yaml": """
{{- if .Values.role }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .Release.Name }}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .Release.Name }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Name }}}
subjects:
- {kind: ServiceAccount, name: {{ .Release.Name }}}
{{- end }}
""",
    "boat.yaml": """
apiVersion: {{ .Values.group }}/v1
kind: Boat
metadata:
  name: {{ .Release.Name }}
spec:
  oars: {{ .Values.oars }}
""",
}

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.$GROUP
spec:
  group: $GROUP
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {oars: {type: integer, maximum: 8}}
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A chart with a kind of its own, in a group that no other test uses."""
    group = f"h{uuid.uuid4().hex[:8]}.example.com"
    folder = tmp_path / "fleet"
    (folder / "templates").mkdir(parents=True)
    (folder / "crds").mkdir()
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: fleet\nversion: 0.1.0\nappVersion: '1'\n")
    values = {"colour": "red", "password": "hidden", "role": True, "oars": 2, "group": group}
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    (folder / "crds" / "boats.yaml").write_text(DEFINITION.replace("$GROUP", group))
    for name, text in TEMPLATES.items():
        (folder / "templates" / name).write_text(text)
    return folder


def release(helm: Tool, name: str) -> dict[str, Any]:
    """What Helm lists about a release."""
    found: list[dict[str, Any]] = json.loads(helm("list", "-f", f"^{name}$", "-o", "json"))
    assert len(found) == 1, found
    return found[0]


def test_a_chart_is_installed_upgraded_rolled_back_and_uninstalled(helm: Tool, kubectl: Tool, chart: Path) -> None:
    group = yaml.safe_load((chart / "values.yaml").read_text())["group"]
    assert "STATUS: deployed" in helm("install", "lake", str(chart), "--wait", "--timeout", "200s")
    config = kubectl.object("get", "cm", "lake-config")["data"]
    assert config == {"colour": "red", "revision": "1", "version": "1", "roles": "served"}
    assert kubectl.object("get", "rolebinding", "lake")["roleRef"]["name"] == "lake"
    assert kubectl("get", f"boats.{group}", "lake", "-o", "jsonpath={.spec.oars}") == "2"

    helm("upgrade", "lake", str(chart), "--set", "colour=blue,role=false,oars=4", "--wait", "--timeout", "200s")
    assert kubectl.object("get", "cm", "lake-config")["data"]["colour"] == "blue"
    assert kubectl("get", f"boats.{group}", "lake", "-o", "jsonpath={.spec.oars}") == "4"
    assert 'roles.rbac.authorization.k8s.io "lake" not found' in kubectl.fails("get", "role", "lake")
    assert release(helm, "lake")["revision"] == "2"

    helm("rollback", "lake", "1", "--wait", "--timeout", "200s")
    assert kubectl.object("get", "cm", "lake-config")["data"]["colour"] == "red"
    assert kubectl.object("get", "role", "lake")["rules"][0]["verbs"] == ["get"]
    history = json.loads(helm("history", "lake", "-o", "json"))
    assert [entry["status"] for entry in history] == ["superseded", "superseded", "deployed"]
    status = json.loads(helm("status", "lake", "-o", "json"))
    assert status["info"]["status"] == "deployed"
    assert 'colour: "red"' in helm("get", "manifest", "lake")

    assert 'release "lake" uninstalled' in helm("uninstall", "lake", "--wait", "--timeout", "200s")
    kinds = f"cm,secret,sa,role,rolebinding,boats.{group}"
    left = kubectl("get", kinds, "-o", "name").split()
    assert left == ["configmap/kube-root-ca.crt", "serviceaccount/default"]
    assert json.loads(helm("list", "-o", "json")) == []
    kubectl("delete", "crd", f"boats.{group}")


def test_an_upgrade_that_fails_is_rolled_back(helm: Tool, kubectl: Tool, chart: Path) -> None:
    group = yaml.safe_load((chart / "values.yaml").read_text())["group"]
    helm("install", "lake", str(chart))
    way = ("--rollback-on-failure", "--timeout", "200s")
    complaint = helm.fails("upgrade", "lake", str(chart), "--set", "oars=99,colour=blue", *way)
    assert "spec.oars in body should be less than or equal to 8" in complaint
    assert kubectl.object("get", "cm", "lake-config")["data"]["colour"] == "red"
    assert release(helm, "lake")["status"] == "deployed"
    helm("uninstall", "lake")
    kubectl("delete", "crd", f"boats.{group}")


def test_what_helm_does_not_own_is_left_alone(helm: Tool, kubectl: Tool, chart: Path) -> None:
    group = yaml.safe_load((chart / "values.yaml").read_text())["group"]
    kubectl("create", "configmap", "lake-config", "--from-literal=mine=yes")
    assert "cannot be imported into the current release" in helm.fails("install", "lake", str(chart))
    assert kubectl.object("get", "cm", "lake-config")["data"] == {"mine": "yes"}
    kubectl("delete", "crd", f"boats.{group}", "--ignore-not-found")


def test_a_dry_run_on_the_server_changes_nothing(helm: Tool, kubectl: Tool, chart: Path) -> None:
    (chart / "crds" / "boats.yaml").unlink()
    (chart / "templates" / "boat.yaml").unlink()
    assert "colour" in helm("install", "lake", str(chart), "--dry-run=server")
    assert kubectl("get", "cm", "-o", "name").split() == ["configmap/kube-root-ca.crt"]
    assert "name: lake-config" in helm("template", "lake", str(chart), "--validate")
