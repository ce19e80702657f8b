"""DPFL: each node adds or drops each candidate by what it does to its validation loss.

Source: Kharrat, Canini and Horvath, "Decentralized personalized federated learning", 2024
(arXiv:2406.06520), Algorithms 1 (DPFL), 2 (GGC) and 3 (BGGC), Eq. (3) (budget).

Symbols: k this node, w_k its model, p_j training samples of j (the paper's shares, not divided by
their sum), Omega_k candidates fixed after preprocessing, C_k collaborators of a round, B_c budget,
R reward (minus the validation loss of k), X chosen, Y not yet rejected, P rounds between two GGC.

Readings where the paper is silent or contradicts itself (each an option where one is listed):
- B_c counts k itself (Algorithms 2 and 3); `budget_counts_self = false` is Eq. (3). B_c = 1 with
  k counted leaves nobody.
- Algorithm 2, line 6 normalises over Y without j; the budget is tested before each candidate and
  ends Algorithm 3 altogether; R(X) = -F(wX / sum_X).
- a = b > 0 gives 1/2, a = b = 0 gives 1; every candidate has a coin of its own.
- Every P rounds GGC chooses anew; in between, C_k stays and its models are mixed. The authors' code
  exchanges nothing in between: `between = "silent"`.
- All nodes mix the models as they were sent; the code lets later nodes mix mixed ones.
- One optimizer state for the whole run, as in the code, or a fresh one a round (`optimizer`).
- The model to report is the one after local training: published as `trained`.
- `augment` crops and flips training images, as the code does for CIFAR-10.
Limitations that the paper names, lifted: `budget` may be a list, one B_c a node; candidates are
those in reach when preprocessing starts (`candidates = "peers"`: all neighbours).
Departures: a candidate that makes the reward infinite or no number is never added. A
candidate lost in either pass of BGGC leaves both: the passes start over without it, so that the
result is that of GGC on those that remain. Omega_k is told by subscriptions, repeated until they
are acknowledged. At most B_c models are on their way or held during BGGC (`Downloads`); in a round
each of Omega_k has one place, which its next model takes over. What an absent candidate means:
`AbsenceParams`.

Personalizes: the whole model.
Shares: whole models, of collaborators chosen by the validation loss.
Sends: `b * theta` to each node that has this one among its candidates; before the first round each
node gets up to `2 * (N - 1)` models.
Needs: equal architectures; validation samples; a common initial model.
Cost a round: `S` steps, 2 + 2 c losses over the validation samples for c candidates, a mean.
Late or absent peers: the choice and the mean are over the candidates whose models came; with
`absent`, the own model or their last one replaces a missing one. A neighbour that did not answer in
the preprocessing joins later if the budget has room (`latecomers`).
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from netsim import api
from netsim.api import Node, Process, Ref
from netsim.api import batched_greedy_collaborators as batched_greedy_collaborators
from netsim.api import greedy_collaborators as greedy_collaborators


class Params(api.DownloadParams, api.SubscriptionParams):
    """Appendix F for CIFAR-10.

    Attributes
    ----------
    budget
        B_c, greatest number of collaborators of a node; a list has one number for each node.
        Absent: any number. Source: Kharrat et al. 2024, Eq. (3).
    budget_counts_self
        Whether the budget counts the node itself (Algorithms 2 and 3), or not (Eq. (3)).
    initial_epochs
        Passes over the training samples before the collaborators are chosen (line 2).
    local_epochs
        Passes over the training samples in a round.
    augment
        Whether training images are cropped and mirrored at random, as the code does for CIFAR-10.
    period
        P, rounds from one choice of collaborators to the next.
    between
        Action in rounds without a choice: the models of the last choice are mixed, or nothing is
        exchanged, as in the code ("silent").
    candidates
        Candidates for collaborators: the nodes in reach when preprocessing starts, or all
        neighbours ("peers").
    optimizer
        Whether the optimizer keeps its state for the whole run, as in the code, or starts afresh
        every round.
    decay
        Factor of the learning rate every `decay_every` rounds; the code has 0.998.
    decay_every
        Rounds from one fall of the learning rate to the next.
    latecomers
        Treatment of neighbours whose models were missing when the candidates were chosen (off, out
        of reach, lost): the node asks them again before each choice and takes them as candidates if
        the budget has room ("join"), or never ("out").
    """

    budget: api.Count | tuple[api.Count, ...] | None = None
    budget_counts_self: bool = True
    initial_epochs: api.Count = 10
    local_epochs: api.Count = 5
    augment: Annotated[bool, api.Needs("images")] = False
    period: api.Count = 1
    between: Literal["mix", "silent"] = "mix"
    candidates: Literal["reachable", "peers"] = "reachable"
    optimizer: Literal["kept", "fresh"] = "kept"
    decay: api.Fraction = 1.0
    decay_every: api.Count = 10
    latecomers: Literal["join", "out"] = "join"


@api.algorithm(knows_servers=False, needs_validation=True, common_parts=("parameters",))
def processes(node: Node, params: Params) -> list[Process]:
    """Algorithm 1 for one node."""
    budget = budget_of(node, params)
    limit = None if budget is None else budget + (not params.budget_counts_self)  # of |X|
    downloads = api.Downloads(node, budget or node.num_nodes, params)
    subscriptions = api.Subscriptions(node, params)
    rounds = on_round(node, params, limit, downloads, subscriptions)
    return [rounds, *subscriptions.listeners()]


def on_round(
    node: Node,
    params: Params,
    limit: int | None,
    downloads: api.Downloads,
    subscriptions: api.Subscriptions,
) -> Process:
    """Algorithm 1."""
    loss = api.augmented_cross_entropy if params.augment else None
    trained = yield node.train(node.initial(), epochs=params.initial_epochs, loss=loss)  # line 2
    node.publish(trained.theta, "trained")
    downloads.offer(trained.theta)
    p, omega, theta = yield from preprocess(node, params, limit, downloads, trained.theta)  # 3-4
    node.publish(theta, "mixed")
    yield from downloads.leave_room_for(len(omega))
    subscriptions.to(omega)
    yield from subscriptions.confirm()
    t = 0
    while True:
        yield node.wakeup()
        if t % params.period == 0:
            omega = yield from with_latecomers(node, params, limit, downloads, p, omega)
            subscriptions.to(omega)
        yield from subscriptions.confirm()
        trained = yield node.train(
            theta,
            epochs=params.local_epochs,
            loss=loss,
            optimizer=trained.optimizer if params.optimizer == "kept" else None,
            learning_rate=node.learning_rate * params.decay ** (t // params.decay_every),
        )  # line 6
        theta = trained.theta
        node.publish(theta, "trained")
        if t % params.period == 0 or params.between == "mix":
            models = yield from subscriptions.exchange(theta)  # line 7
            if t % params.period == 0:
                offered, shares = choose(node, limit, theta, models, omega, p)  # line 8
            theta = mix(node, params, theta, models, offered, shares)  # line 9
            node.publish(theta, "mixed")
        t += 1


def preprocess(
    node: Node, params: Params, limit: int | None, downloads: api.Downloads, own: Ref
) -> Generator[Any, Any, tuple[dict[int, int], list[int], Ref]]:
    """Training samples p, Omega_k by BGGC, and the mean model over Omega_k and k."""
    if limit == 1:
        return {node.id: node.train_size}, [], own
    reach = (yield node.reachable()) if params.candidates == "reachable" else node.neighbours
    p = yield from downloads.sizes(reach)
    order = node.permutation("order", sorted(p))
    coins = dict(zip(order, node.uniform("coin", len(order)), strict=True))
    p[node.id] = node.train_size
    while True:
        gone, is_over, omega, theta = yield from bggc(node, own, order, coins, p, limit, downloads)
        order = [j for j in order if j not in gone]
        for j in gone:  # they may still join later
            del p[j]
        if is_over:
            return p, sorted(omega), theta


def with_latecomers(
    node: Node,
    params: Params,
    limit: int | None,
    downloads: api.Downloads,
    p: dict[int, int],
    omega: Sequence[int],
) -> Generator[Any, Any, list[int]]:
    """Omega_k and neighbours that could not be had before, ascending; their samples go into `p`."""
    missing = [j for j in node.neighbours if j not in p]
    room = len(missing) if limit is None else limit - 1 - len(omega)
    if missing and limit != 1 and (room <= 0 or params.latecomers == "out"):
        why = ": its budget is full" if params.latecomers == "join" else ""
        node.warn(
            "candidates lost",
            f"goes without {len(missing)} of {len(node.neighbours)} "
            f"neighbours that could not be had before the first round{why}",
        )
    if not missing or room <= 0 or params.latecomers == "out":
        return list(omega)
    asked = missing
    if params.candidates == "reachable":
        reach = yield node.reachable()
        asked = [j for j in missing if j in reach]
    found = yield from downloads.there(asked)
    if len(found) < len(missing):
        node.warn(
            "candidates lost",
            f"goes without {len(missing) - len(found)} of {len(node.neighbours)} neighbours that "
            "could not be had before the first round, nor when a choice began: until they answer",
        )
    joined = sorted(found)[:room]
    p |= {j: found[j] for j in joined}
    return sorted([*omega, *joined])


def bggc(
    node: Node,
    own: Ref,
    order: Sequence[int],
    coins: Mapping[int, float],
    p: Mapping[int, int],
    limit: int | None,
    downloads: api.Downloads,
) -> Generator[Any, Any, tuple[list[int], bool, list[int], Ref]]:
    """Algorithm 3: candidates whose models were lost; whether it is over; X; wX / sum_X.

    It is not over where one was lost in the second pass, and then nothing but the first counts.
    """
    gone: list[int] = []
    state, rest = node.pool([own], [p[node.id]]), order
    while rest:  # pass 1: wY
        models, lost, rest = yield from downloads.batch(rest)
        gone += lost
        state = node.pool([own, *models.values()], [p[j] for j in (node.id, *models)], state)
    theta, omega = own, list[int]()
    rest = [j for j in order if j not in gone]
    while rest and (limit is None or 1 + len(omega) < limit):  # pass 2
        models, lost, rest = yield from downloads.batch(rest)
        if lost:
            return [*gone, *lost], False, [], own
        sizes, flips = [p[j] for j in (node.id, *models)], [coins[j] for j in models]
        shares, state = node.select([own, *models.values()], sizes, flips, limit, state)
        theta = node.mix([theta, *models.values()], node.compute(with_all_before, shares))
        room = len(models) if limit is None else limit - 1 - len(omega)
        numbers = yield node.value(shares, default=[1.0] * (1 + room) + [0.0] * len(models))
        omega += [j for j, share in zip(models, numbers[1:], strict=False) if share > 0]
    return gone, True, omega, theta


def with_all_before(shares: Tensor) -> Tensor:
    """Shares in the mean over X of all before this batch (first) and of each of the batch."""
    return torch.cat([1.0 - shares[1:].sum().reshape(1), shares[1:]])


def choose(
    node: Node,
    limit: int | None,
    own: Ref,
    models: Mapping[int, Ref],
    omega: Sequence[int],
    p: Mapping[int, int],
) -> tuple[list[int], Ref]:
    """C_k by GGC (Algorithm 2): whom it was offered; shares of k and of each, 0 if rejected.

    `node.select` runs `greedy_collaborators` on models, many nodes at once.
    """
    order = node.permutation("order", omega)
    coins = dict(zip(order, node.uniform("coin", len(order)), strict=True))
    offered = [j for j in order if j in models]
    thetas, sizes = [own, *(models[j] for j in offered)], [p[j] for j in (node.id, *offered)]
    shares, _ = node.select(thetas, sizes, [coins[j] for j in offered], limit)
    return offered, shares


def mix(
    node: Node,
    params: Params,
    own: Ref,
    models: Mapping[int, Ref],
    offered: Sequence[int],
    shares: Ref,
) -> Ref:
    """The p-weighted mean over k and C_k, as far as there are models, discounted by age."""
    there = [j for j in offered if j in models]
    if len(there) < len(offered):
        columns = tuple(1 + offered.index(j) for j in there)
        shares = node.compute(renormalised, shares, columns)
    thetas = [own, *(models[j] for j in there)]
    shares = api.discounted(node, params, thetas, shares)
    copies = tuple(1 + n for n, j in enumerate(there) if models[j] is own)
    logged = node.compute(api.copies_as_own, shares, copies) if copies else shares
    node.log_weights([node.id, *there], logged)
    return node.mix(thetas, shares)


def renormalised(shares: Tensor, columns: tuple[int, ...]) -> Tensor:
    """The own share and those in `columns`, to sum 1."""
    some = shares[[0, *columns]]
    return some / some.sum()


def budget_of(node: Node, params: Params) -> int | None:
    """B_c of a node: how many models of others it may hold or download at once."""
    if isinstance(params.budget, tuple) and len(params.budget) != node.num_nodes:
        raise api.UnsuitableError(
            f"[algorithm] budget: lists {len(params.budget)} nodes, there are {node.num_nodes}"
        )
    return params.budget[node.id] if isinstance(params.budget, tuple) else params.budget
