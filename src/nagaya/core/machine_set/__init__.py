"""MachineSets: as many equal machines as wanted, no matter which of them come and go.

`controller` looks at one set at a time: `seen` is what it reads, `plan` what it decides, `apply` what it does about
it, and `status` what it tells. What a set does to its machines has a file each: `preflight` and `creation`,
`deletion_order`, `remediation`, and `propagation` of what may change while a machine lives.
"""
