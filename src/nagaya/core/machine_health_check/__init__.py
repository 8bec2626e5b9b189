"""MachineHealthChecks: machines that do not work are found, and handed over to whoever replaces them.

`controller` looks at one check at a time: `seen` is what it reads, `plan` what it decides, `apply` what it does about
it, and `status` what it tells. `verdict` judges one machine, `limit` whether so many sick ones may be replaced at all,
and `external` knows the remediation requests of others.
"""
