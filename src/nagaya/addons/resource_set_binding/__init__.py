"""ClusterResourceSetBindings: the record of what a cluster got goes when the cluster does."""
