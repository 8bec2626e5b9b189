"""What is put into clusters once they are there: manifests from ClusterResourceSets."""
