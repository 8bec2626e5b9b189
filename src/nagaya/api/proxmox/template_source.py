"""Which template of Proxmox VE a VM is cloned from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.formats import Tag

EXACT: Final = "exact"
UNIQUE_SUBSET: Final = "uniqueSubset"
BEST_SUBSET: Final = "bestSubset"
_VERSION_TAG: Final = "kubernetes-"


class TemplateSelector(Model):
    """Which template is meant, by its tags."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "has(self.matchTags) || has(self.matchKubernetesVersion) && self.matchKubernetesVersion",
                "matchTags is needed unless matchKubernetesVersion is true: nothing else says which template is meant",
            )
        ]
    }

    match_tags: Annotated[
        tuple[Tag, ...],
        doc("The tags of the template.", minItems=1, maxItems=64, list_type="set"),
    ] = ()
    match_policy: Annotated[
        str | None,
        doc(
            "How the tags are compared. exact: the template has these tags and no others. uniqueSubset: it has these "
            "and maybe others, and is the only such one. bestSubset: of those that have these, the one with the "
            "fewest others. exact if left out.",
            enum=[EXACT, UNIQUE_SUBSET, BEST_SUBSET],
        ),
    ] = None
    match_kubernetes_version: Annotated[
        bool | None,
        doc(
            "Whether the template must also have the tag of the Machine's Kubernetes version, for example "
            "kubernetes-v1.34.2. Then an upgrade needs no other template object. It need not if left out.",
        ),
    ] = None


class CloneSpec(Model):
    """What a VM is cloned from, and how."""

    source_node: Annotated[
        str,
        doc(
            "The host that the template is on. Without allowedNodes the VM stays there. Give it with templateID, or "
            "give templateSelector instead. If neither is given, the connection says which template is meant.",
            minLength=1,
            maxLength=63,
        ),
    ] = ""
    template_id: Annotated[
        int | None, doc("The VMID of the template. It may be that of a VM, which is copied as it is.")
    ] = msgspec.field(default=None, name="templateID")
    template_selector: Annotated[TemplateSelector | None, doc("Which template is meant, by its tags.")] = None
    description: Annotated[str, doc("What the description of the VM begins with.", maxLength=4096)] = ""
    format: Annotated[
        str | None,
        doc(
            "The format of the disks, on storages that have files. Only for full clones.", enum=["raw", "qcow2", "vmdk"]
        ),
    ] = None
    full: Annotated[
        bool | None,
        doc("Whether disks are copied whole; if false they stay linked to those of the template.", default=True),
    ] = None
    pool: Annotated[str, doc("The pool of Proxmox VE that the VM is put in.", maxLength=1024)] = ""
    snap_name: Annotated[str, doc("The snapshot of the VM that is cloned.", maxLength=40)] = ""
    storage: Annotated[str, doc("The storage for the disks. Only for full clones.", maxLength=100)] = ""
    target: Annotated[
        str,
        doc(
            "The host that the VM is to be on, whatever allowedNodes says. v1alpha1 has this; allowedNodes with one "
            "host does the same.",
            maxLength=63,
        ),
    ] = ""


CLONE_RULES: Final = (
    rule("!has(self.full) || self.full || !has(self.format)", "Must set full=true when specifying format"),
    rule("!has(self.full) || self.full || !has(self.storage)", "Must set full=true when specifying storage"),
)
_ONE_SOURCE: Final = "must define either a SourceNode with a TemplateID or a TemplateSelector"
SOURCE_RULES: Final = (
    rule("!has(self.templateSelector) || !has(self.sourceNode) && !has(self.templateID)", _ONE_SOURCE),
    rule("has(self.sourceNode) == has(self.templateID)", _ONE_SOURCE),
)
"""A machine may say nothing of its template: then the defaults of its connection do."""


def version_tag(version: str) -> str:
    """The tag of templates that have a Kubernetes version: `kubernetes-v1.34.2`. A plus sign is a hyphen there."""
    return f"{_VERSION_TAG}v{version.removeprefix('v').replace('+', '-')}".lower()
