"""Extensions that are asked during the life of clusters: the group runtime.cluster.x-k8s.io."""
