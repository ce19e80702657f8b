"""Weights that a run logged, as tests of methods read them."""


def logged(run, what="applied"):
    """[(time in ns, node, ids, weights)] of those that were applied, or learned."""
    return [due[:4] for due in run.weights_due if due.what == what]
