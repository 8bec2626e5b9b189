"""SimulatedMachineTemplates: they say what machines will offer, so that autoscalers can scale up from none."""
