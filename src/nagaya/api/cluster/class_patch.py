"""Patches of a ClusterClass: how variables change the templates that a cluster is made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from nagaya.api.cluster.formats import API_VERSION, KIND
from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc

ClassNames = Annotated[
    tuple[
        Annotated[str, doc("The name of a class, or * at its start or end for any text.", minLength=1, maxLength=256)],
        ...,
    ],
    doc("The names of the classes.", maxItems=100, list_type="atomic"),
]
_EXTENSION = {"minLength": 1, "maxLength": 512}


class PatchValueSource(Model):
    """What a value is made from. Exactly one of the two must be given."""

    variable: Annotated[
        str,
        doc(
            "A variable whose value is taken, or a part of one: size, network.mtu, builtin.cluster.name.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
    template: Annotated[
        str,
        doc(
            "A Go template that makes the value, as YAML or JSON. Variables are used as {{ .size }}.",
            minLength=1,
            maxLength=10240,
        ),
    ] = ""


class ClassJSONPatch(Model):
    """One change of a template."""

    op: Annotated[str, doc("What is done.", enum=["add", "replace", "remove"])]
    path: Annotated[
        str,
        doc(
            "Where, as in /spec/template/spec/memory. It must lie below /spec. In lists only adding at the start (0) "
            "or at the end (-) is possible.",
            minLength=1,
            maxLength=512,
        ),
    ]
    value: Annotated[Any, doc("The value, if it is always the same. Not together with valueFrom.")] = None
    value_from: Annotated[PatchValueSource | None, doc("What the value is made from. Not together with value.")] = None


class ClassNameMatch(Model):
    """Classes, by their names."""

    names: ClassNames = ()


class PatchSelectorMatch(Model):
    """Where a template is referred to. At least one must be given."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    control_plane: Annotated[
        bool | None, doc("Templates that spec.controlPlane refers to, those of its machines included.")
    ] = None
    infrastructure_cluster: Annotated[bool | None, doc("The template that spec.infrastructure refers to.")] = None
    machine_deployment_class: Annotated[
        ClassNameMatch | None, doc("Templates that these classes of MachineDeployments refer to.")
    ] = None
    machine_pool_class: Annotated[
        ClassNameMatch | None, doc("Templates that these classes of MachinePools refer to.")
    ] = None


class PatchSelector(Model):
    """Which templates are changed."""

    api_version: Annotated[
        str,
        doc("The API group and version of the templates.", minLength=1, maxLength=317, pattern=API_VERSION),
    ]
    kind: Annotated[str, doc("The kind of the templates.", minLength=1, maxLength=63, pattern=KIND)]
    match_resources: Annotated[PatchSelectorMatch, doc("Where the templates are referred to.")]


class PatchDefinition(Model):
    """Changes of some templates."""

    selector: Annotated[PatchSelector, doc("Which templates are changed.")]
    json_patches: Annotated[
        tuple[ClassJSONPatch, ...],
        doc("The changes, in their order.", minItems=1, maxItems=100, list_type="atomic"),
    ]


class ExternalPatch(Model):
    """Extensions that make the changes, instead of definitions in the class."""

    generate_patches_extension: Annotated[
        str, doc("The extension that makes the changes: HANDLER.EXTENSIONCONFIG.", **_EXTENSION)
    ] = ""
    validate_topology_extension: Annotated[
        str, doc("The extension that checks the templates after all changes.", **_EXTENSION)
    ] = ""
    discover_variables_extension: Annotated[
        str, doc("The extension that says which variables its changes need.", **_EXTENSION)
    ] = ""
    settings: Annotated[
        Mapping[str, str], doc("Settings for the extensions. They take precedence over those of the ExtensionConfig.")
    ] = NONE


class ClassPatch(Model):
    """A named set of changes, made together or not at all. It has either definitions or an external part."""

    name: Annotated[str, doc("The name of the patch.", minLength=1, maxLength=256)]
    description: Annotated[str, doc("What the patch is for.", minLength=1, maxLength=1024)] = ""
    enabled_if: Annotated[
        str,
        doc(
            "A Go template: the patch is made only if it yields true. Example: {{ .audit }}. Always if left out.",
            minLength=1,
            maxLength=256,
        ),
    ] = ""
    definitions: Annotated[
        tuple[PatchDefinition, ...], doc("The changes, in their order.", maxItems=100, list_type="atomic")
    ] = ()
    external: Annotated[ExternalPatch | None, doc("Extensions that make the changes.")] = None
