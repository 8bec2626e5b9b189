"""The certificates group."""

from __future__ import annotations

from datetime import datetime

from nagaya.apiserver.meta import durations
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import NONE, age, labels_text, name, spec, status
from nagaya.apiserver.table.columns import AGE, NAME, Cells, shape, text


@shape(
    NAME,
    AGE,
    text("SignerName", "Who is asked to sign."),
    text("Requestor", "Who asks."),
    text("RequestedDuration", "How long the certificate should be valid."),
    text("Condition", "What has become of the request."),
)
def CERTIFICATE_SIGNING_REQUESTS(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    seconds = wanted.get("expirationSeconds")
    return [
        name(obj),
        age(obj, now),
        wanted.get("signerName") or NONE,
        wanted.get("username") or "",
        NONE if seconds is None else durations.human(seconds),
        _state(status(obj)),
    ]


def _state(observed: JsonObject) -> str:
    kinds = {each.get("type") for each in observed.get("conditions") or ()}
    state = "Denied" if "Denied" in kinds else "Approved" if "Approved" in kinds else "Pending"
    if "Failed" in kinds:
        state += ",Failed"
    return f"{state},Issued" if observed.get("certificate") else state


@shape(NAME, text("SignerName", "Whose certificates these are."))
def CLUSTER_TRUST_BUNDLES(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), spec(obj).get("signerName") or NONE]


@shape(
    NAME,
    text("PodName", "The pod that needs the certificate."),
    text("ServiceAccountName", "The pod's service account."),
    text("NodeName", "The pod's node."),
    text("SignerName", "Who is asked to sign."),
    text("State", "What has become of the request."),
    text("UnverifiedUserAnnotations", "What the pod's author tells the signer."),
)
def POD_CERTIFICATE_REQUESTS(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    state = "Pending"
    for each in status(obj).get("conditions") or ():
        if each.get("type") in ("Issued", "Denied", "Failed"):
            state = each["type"]
    members = ("podName", "serviceAccountName", "nodeName", "signerName")
    shown = [wanted.get(member) or "" for member in members]
    return [name(obj), *shown, state, labels_text(wanted.get("unverifiedUserAnnotations"))]
