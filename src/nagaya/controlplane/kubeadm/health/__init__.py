"""How a control plane is: from what a tenant says to the conditions of machines and of the control plane."""
