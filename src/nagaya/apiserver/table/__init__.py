"""Objects as rows and columns: what `kubectl get` shows is made by the server."""
