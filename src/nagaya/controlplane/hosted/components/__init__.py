"""What the programs of a hosted control plane are started with: arguments and configuration files.

Pure: a `TenantFacts` in, texts out, the same for the same facts. Who starts the programs, where, and who writes the
files is not known here. Three kinds of arguments, and what wins:

- fixed ones, on which the control plane's working and isolation depend. Nobody replaces them (the table is
  `nagaya.api.controlplane.hosted_arguments`, by which admission refuses them);
- defaults, which are kubeadm's, hardened as the CIS benchmark asks (`cis` lists where it is not followed, and why);
- the user's, which replace defaults of the same name.
"""
