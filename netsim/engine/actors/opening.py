"""Opening the actors of a run: which nodes each of them owns, and what it is made from."""

from __future__ import annotations

from collections.abc import Sequence

from netsim.backends.dispatch import Routes
from netsim.engine import equipment, ray_cluster
from netsim.engine.actors.actor import Kit
from netsim.engine.actors.backend import Actors
from netsim.engine.actors.ray_pool import start_pool
from netsim.learning.shards import Shards
from netsim.registry import modules_of
from netsim.scenario import to_toml
from netsim.scenario.component_files import folders
from netsim.scenario.tables import AlgorithmEntry
from netsim.traces.files import data_folder
from netsim.world.builder import World


def with_actors(
    world: World, entry: AlgorithmEntry, shards: Shards, name: str, routes: Routes
) -> Actors:
    """A backend whose jobs actors of a Ray cluster run.

    Parameters
    ----------
    entry : AlgorithmEntry
        What is played.
    shards : Shards
        In the minibatches that are trained on.
    name : str
        Of the backend that computes in each actor.
    routes : Routes
        The routes of this process, which the actors take, too.

    Raises
    ------
    ScenarioError
        If there is no Ray or no such cluster.
    """
    run = world.scenario.run
    threads = 1 if run.threads == "auto" else run.threads
    gpus = 1.0 if shards.x.device.type == "cuda" else 0.0
    text = to_toml(world.scenario, entry)
    modules = {*modules_of(world.scenario), type(entry.params).__module__}
    sources = [
        (package, ray_cluster.python_files(own))
        for package, own in folders().items()
        if any(name.startswith(f"{package}.") for name in modules)
    ]
    data = data_folder()
    lies = None if data is None else str(data.absolute())
    layouts = list(dict.fromkeys(world.architectures))
    chosen = [routes.choice(layout) for layout in layouts]
    sizes = [a.num_values for a in world.architectures]

    def kits(count: int) -> list[Kit]:
        homes = homes_of(sizes, count)
        shares = [tuple(n for n, h in enumerate(homes) if h == a) for a in range(max(homes) + 1)]
        common = threads, chosen, equipment.made_with()
        return [Kit(text, entry.name, sources, lies, some, *common) for some in shares]

    pool = start_pool(kits, run.actors, threads, gpus)
    return Actors(pool, name, homes_of(sizes, pool.size), shards, layouts)


def homes_of(sizes: Sequence[int], actors: int) -> list[int]:
    """The actor of each node: neighbours in number together, actors with about as much to do.

    `sizes`: values of each node's model. `actors`: at most so many, and no more than nodes.
    """
    count, total, before = min(actors, len(sizes)), sum(sizes), 0
    found = []
    for size in sizes:
        found.append(min(count - 1, (2 * before + size) * count // (2 * total)))
        before += size
    used = {home: number for number, home in enumerate(dict.fromkeys(found))}
    return [used[home] for home in found]
