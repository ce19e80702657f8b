"""Links of given latency, rate and loss, with shared bottlenecks and backbones."""
