"""ClusterResourceSets: manifests that every cluster with certain labels gets as soon as its API answers.

`controller` looks at one set at a time: `seen` is what it reads, `plan` which clusters lack what, `errands` and
`tenant` bring it there, `binding` is the record of what was brought, and `status` what is told. Manifests come from
`contents`, which reads ConfigMaps and Secrets, and `manifests`, which understands them.
"""
