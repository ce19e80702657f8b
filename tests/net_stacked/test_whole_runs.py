"""Whole runs of the shipped systems: both backends log the same events and learn the same.

In float64, so that what differs is a mistake and not the order of a sum.
"""

from netsim import engine, world
from netsim.scenario import load

SHORT = {
    "small_pfedgraph": ["horizon_s=30"],
    "small_dpfl": ["horizon_s=30"],
    "small_l2c": ["horizon_s=30"],
    "small_mapl": ["horizon_s=30", 'training.optimizer="sgd"'],
    "kd_pdfl_iot": ["horizon_s=30"],
}
"""Shipped scenarios and what shortens them."""


def play(name, sets, backend):
    scenario = load(name, [*sets, 'training.dtype="float64"', f'run.backend="{backend}"'])
    built = world.build(scenario)
    found = {}
    for entry in scenario.algorithm:
        run = engine.Simulation(built, entry, None, False, None)
        run.to_horizon()
        models = {
            (node.id, stage): publication.ref.tensor().clone()
            for node in run.ctx.nodes
            for stage, publication in node.published.items()
        }
        found[entry.name] = (run.finish(None), models)
    return found
