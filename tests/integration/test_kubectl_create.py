"""kubectl, unmodified: what it creates, from plain objects to tokens and certificates."""

from __future__ import annotations

import base64
import json
import re
import time
from pathlib import Path

import yaml

from integration.conftest import Tool


def test_create_of_plain_objects(kubectl: Tool, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("content\n")
    kubectl("create", "configmap", "one", "--from-literal=a=1", f"--from-file={tmp_path / 'file.txt'}")
    assert kubectl.object("get", "cm", "one")["data"] == {"a": "1", "file.txt": "content\n"}
    kubectl("create", "secret", "generic", "two", "--from-literal=password=hidden")
    assert base64.b64decode(kubectl.object("get", "secret", "two")["data"]["password"]) == b"hidden"
    kubectl("create", "secret", "docker-registry", "three", "--docker-username=u", "--docker-password=p")
    assert kubectl.object("get", "secret", "three")["type"] == "kubernetes.io/dockerconfigjson"
    kubectl("create", "quota", "four", "--hard=configmaps=100")
    kubectl("create", "priorityclass", f"{kubectl.namespace}-five", "--value=10")
    kubectl("delete", "priorityclass", f"{kubectl.namespace}-five")
    assert 'configmaps "one" already exists' in kubectl.fails("create", "configmap", "one")


def test_create_of_workloads_and_services(kubectl: Tool) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "--port=80")
    kubectl("create", "service", "clusterip", "web", "--tcp=80:8080")
    kubectl("create", "job", "once", "--image=busybox", "--", "true")
    kubectl("create", "cronjob", "nightly", "--image=busybox", "--schedule=0 3 * * *")
    kubectl("create", "ingress", "web", "--rule=example.com/*=web:80")
    kubectl("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=1")
    kubectl("expose", "deployment", "web", "--name=web2", "--port=80")
    kubectl("autoscale", "deployment", "web", "--min=1", "--max=3")
    found = kubectl("get", "deploy,svc,job,cronjob,ingress,pdb,hpa", "-o", "name").split()
    assert found == [
        "deployment.apps/web",
        "service/web",
        "service/web2",
        "job.batch/once",
        "cronjob.batch/nightly",
        "ingress.networking.k8s.io/web",
        "poddisruptionbudget.policy/web",
        "horizontalpodautoscaler.autoscaling/web",
    ]
    assert kubectl.object("get", "service", "web")["spec"]["clusterIP"]


def test_create_of_a_pod(kubectl: Tool) -> None:
    kubectl("run", "box", "--image=busybox", "--restart=Never")
    assert kubectl.object("get", "pod", "box")["status"]["phase"] == "Pending"
    assert kubectl("get", "pods").splitlines()[1].split()[:3] == ["box", "0/1", "Pending"]


def test_service_accounts_get_tokens_that_work(kubectl: Tool) -> None:
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot", "--duration=1h").strip()
    assert token.count(".") == 2
    user = f"system:serviceaccount:{kubectl.namespace}:robot"
    anonymous = _without_certificate(kubectl)
    assert user in anonymous("auth", "whoami", "--token", token)
    assert "Forbidden" in anonymous.fails("get", "cm", "--token", token)
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=configmaps")
    kubectl("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={kubectl.namespace}:robot")
    anonymous("get", "cm", "--token", token)
    assert "must be logged in" in anonymous.fails("get", "cm", "--token", "nonsense")


def _without_certificate(kubectl: Tool) -> Tool:
    config = yaml.safe_load(kubectl.kubeconfig.read_text())
    config["users"][0]["user"] = {}
    path = kubectl.kubeconfig.with_name("anonymous")
    path.write_text(yaml.safe_dump(config))
    return Tool(kubectl.program, kubectl.home, path, kubectl.namespace)


def test_auth_can_i_and_whoami(kubectl: Tool) -> None:
    assert kubectl("auth", "can-i", "delete", "nodes").split()[-1] == "yes"
    kubectl("create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps,secrets")
    kubectl("create", "rolebinding", "reader", "--role=reader", "--user=jane")
    assert kubectl("auth", "can-i", "get", "cm", "--as=jane").strip() == "yes"
    assert kubectl.run(["auth", "can-i", "delete", "cm", "--as=jane"]).stdout.strip() == "no"
    assert re.search(r"configmaps\s+\[\]\s+\[\]\s+\[get list watch\]", kubectl("auth", "can-i", "--list", "--as=jane"))
    assert re.search(r"Username\s+jane", kubectl("auth", "whoami", "--as=jane"))
    assert "system:masters" in kubectl("auth", "whoami")


def test_roles_are_created_and_reconciled(kubectl: Tool) -> None:
    cluster_role = f"{kubectl.namespace}-pods"
    kubectl("create", "clusterrole", cluster_role, "--verb=get", "--resource=pods")
    kubectl("create", "clusterrolebinding", cluster_role, f"--clusterrole={cluster_role}", "--group=watchers")
    role = kubectl("get", "clusterrole", cluster_role, "-o", "yaml").replace("- get", "- list")
    assert "reconciled" in kubectl("auth", "reconcile", "-f", "-", input=role)
    verbs = [verb for rule in kubectl.object("get", "clusterrole", cluster_role)["rules"] for verb in rule["verbs"]]
    assert sorted(verbs) == ["get", "list"]
    kubectl("delete", "clusterrole,clusterrolebinding", cluster_role)


def test_certificates_are_approved(kubectl: Tool) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "jane")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": kubectl.namespace},
        "spec": {
            "request": base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }
    kubectl("create", "-f", "-", input=json.dumps(body))
    assert "Pending" in kubectl("get", "csr", kubectl.namespace)
    kubectl("certificate", "approve", kubectl.namespace)
    assert "Approved" in kubectl("get", "csr", kubectl.namespace)
    kubectl("delete", "csr", kubectl.namespace)


def test_events_are_listed_for_an_object(kubectl: Tool, settings: str) -> None:
    uid = kubectl.object("get", settings)["metadata"]["uid"]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    involved = {"kind": "ConfigMap", "name": "settings", "namespace": kubectl.namespace, "uid": uid, "apiVersion": "v1"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "settings.1", "namespace": kubectl.namespace},
        "involvedObject": involved,
        "reason": "Painted",
        "message": "it is red now",
        "type": "Normal",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    kubectl("create", "-f", "-", input=json.dumps(event))
    assert re.search(r"Normal\s+Painted\s+ConfigMap/settings\s+it is red now", kubectl("events", "--for", settings))
    assert re.search(r"Normal\s+Painted\s+configmap/settings\s+it is red now", kubectl("get", "events"))
    assert "it is red now" in kubectl("describe", settings)


def test_a_list_of_objects_is_created_at_once(kubectl: Tool) -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in ("a", "b")]
    created = kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert created.split("\n")[:2] == ["configmap/a created", "configmap/b created"]
