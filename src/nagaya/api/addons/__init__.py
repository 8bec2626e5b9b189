"""What is put into clusters once they are there: the group addons.cluster.x-k8s.io."""
