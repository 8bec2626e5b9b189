"""Objects for tests with command line tools: a configuration, and a kind of its own with one object."""

from __future__ import annotations

CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  colour: red
  size: small
"""

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.$GROUP
spec:
  group: $GROUP
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, shortNames: [bt], categories: [fleet]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.oars, statusReplicasPath: .status.oars, labelSelectorPath: .status.selector}
    additionalPrinterColumns:
    - {name: Oars, type: integer, jsonPath: .spec.oars}
    - {name: Colour, type: string, jsonPath: .spec.colour, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: A boat on the lake.
        properties:
          spec:
            type: object
            description: What the boat shall be.
            required: [oars]
            properties:
              oars: {type: integer, minimum: 0, maximum: 8, description: How many oars it has.}
              colour: {type: string, default: blue, enum: [blue, red]}
              crew:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, seat: {type: integer}}
          status:
            type: object
            properties:
              oars: {type: integer}
              selector: {type: string}
              conditions:
                type: array
                items:
                  type: object
                  properties: {type: {type: string}, status: {type: string}}
"""

BOAT = """
apiVersion: $GROUP/v1
kind: Boat
metadata:
  name: swan
spec:
  oars: 2
"""
