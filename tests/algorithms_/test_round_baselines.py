"""Whole runs of the round baselines against their pseudocode, written down in plain PyTorch.

The transcriptions use no part of the simulator. They are given as data: the initial model, each
node's samples and the order in which it takes them, and, where messages are lost, who heard whom.
"""

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F

from algorithms.fedavg_ft import higher, hit_rate
from algorithms.fedproto import by_nearest, prototype_loss
from netsim.api import Batch, crop_and_flip
from netsim.errors import NetsimError

from .transcription import (
    HIDDEN,
    LOSSY,
    NODES,
    RATE,
    RING,
    ROUNDS,
    SERVER,
    UNEVEN,
    WORLD,
    Given,
    cross_entropy,
    features,
    layers,
    logits,
    mean,
    metropolis,
    sgd,
    shown,
)
from .weights import logged

EXACT = {"rtol": 0, "atol": 1e-9}
EVERY_ROUND = {"metrics": {"every_s": 59.0, "weights": False}}
NO_VIEWS = {"crop_min": 1.0, "crop_ratio": 1.0, "flip": 0.0, "jitter": 0.0, "grayscale": 0.0}


def close(rows, expected):
    for mine, theirs in zip(rows, expected, strict=True):
        torch.testing.assert_close(mine, theirs, **EXACT)


def heads(rows):
    return [row[-10 * (HIDDEN + 1) :] for row in rows]


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
@pytest.mark.parametrize("weights", ["sizes", "equal"])
def test_fedavg(play, world, weights):
    run = play({"kind": "fedavg", "weights": weights, "local_epochs": 2}, **world)
    given = Given(run)
    w = given.initial
    for t in range(ROUNDS):
        thetas = [sgd(w, given.epoch(i, t, 2)) for i in range(NODES)]
        w = mean(thetas, given.sizes if weights == "sizes" else [1] * NODES)
    close(shown(run, "trained"), thetas)
    close(shown(run, "mixed"), [w] * NODES)
    assert len(set(given.sizes)) > 1


def test_an_algorithms_own_stages_are_measured(play, tmp_path):
    play({"kind": "fedavg", "stages": ["trained"]}, tmp_path / "run", **WORLD)
    rows = pd.read_parquet(tmp_path / "run" / "metrics")
    assert set(rows.stage) == {"trained"}


def test_augmented_training_sees_cropped_and_mirrored_images(play):
    run = play({"kind": "fedavg", "augment": True}, **WORLD)
    given = Given(run)
    w = given.initial
    for t in range(ROUNDS):
        thetas = [sgd(w, given.augmented_epoch(i, t)) for i in range(NODES)]
        w = mean(thetas, given.sizes)
    close(shown(run, "trained"), thetas)


AUGMENTED = (
    *("local", "fedavg", "fedavg_ft", "fedavg_plus", "fedprox", "ditto"),
    *("dpsgd", "dfedavgm", "fedfomo", "fedsim", "fedproto"),
)


@pytest.mark.thinned(12)
@pytest.mark.parametrize("kind", AUGMENTED)
def test_every_baseline_that_trains_by_cross_entropy_can_augment(play, kind):
    algorithm = {"kind": kind} | ({"switch_s": 60.0} if kind == "fedavg_plus" else {})
    plain, augmented = (play(algorithm | {"augment": a}, **WORLD) for a in (False, True))
    stage = next(iter(plain.parts[0].publishing.published))
    pairs = zip(shown(plain, stage), shown(augmented, stage), strict=True)
    assert not any(torch.equal(*pair) for pair in pairs)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("kind", ["local", "fedavg"])
def test_steps_of_a_star_can_augment_too(play, kind):
    runs = [play({"kind": kind, "augment": augment}) for augment in (False, True)]
    plain, augmented = (run.parts[0].publishing.published["trained"].ref.tensor() for run in runs)
    assert not torch.equal(plain, augmented)


def test_augmenting_what_is_no_image_is_refused():
    with pytest.raises(ValueError, match=r"for images.*\(296,\)"):
        crop_and_flip(Batch(torch.zeros(2, 296), torch.zeros(2), torch.zeros(2, 3)))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
def test_fedavg_ft_shows_the_model_after_local_training(play, world):
    run = play({"kind": "fedavg_ft"}, **world)
    plain = play({"kind": "fedavg"}, **world)
    close(shown(run, "trained"), shown(plain, "trained"))
    assert set(run.parts[0].publishing.published) == {"trained"}


def accuracy(row, x, y):
    return float((logits(row, x).argmax(1) == y).double().mean())


@pytest.mark.thinned(4)
@pytest.mark.parametrize("augment", [False, True])
@pytest.mark.parametrize("strength", [0.0, 0.1])
def test_fine_tuning_starts_at_the_best_model_and_has_the_loss_of_the_rounds(
    play, strength, augment
):
    """With a rate so high that accuracies go up and down, the best w is not the last for some."""
    training = {"learning_rate": 3.0, "batch_size": 10, "dtype": "float64"}
    kind = {"kind": "fedprox", "fine_tune": True, "strength": strength}
    kind = kind if strength else {"kind": "fedavg_ft"}
    algorithm = {**kind, "augment": augment, "fine_tune_after": 4, "fine_tune_epochs": 2}
    world = WORLD | {"training": training, "horizon_s": 399.0}
    run = play(algorithm, **world)
    given = Given(run)
    epoch = given.augmented_epoch if augment else given.epoch

    def trained(start, batches):
        def near(row, x, y):
            return cross_entropy(row, x, y) + strength / 2 * ((row - start) ** 2).sum()

        return sgd(start, batches, near, rate=3.0)

    w, means = given.initial, []
    for t in range(4):
        w = mean([trained(w, epoch(i, t)) for i in range(NODES)], given.sizes)
        means.append(w)
    best = []
    for i in range(NODES):
        found = [accuracy(w, *given.split(i, "validation")) for w in means]
        best.append(max(t for t in range(4) if found[t] == max(found)))
    tuned = [trained(means[best[i]], [*epoch(i, 4), *epoch(i, 5)]) for i in range(NODES)]
    for mine, theirs in zip(shown(run, "trained"), tuned, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-9)
    assert len(set(best)) > 1 or strength
    steps = [len(given.epoch(i, 0)) for i in range(NODES)]
    assert [node.processor.local_steps for node in run.parts] == [6 * n for n in steps]


def test_where_fine_tuning_comes_last_its_model_alone_is_reported(play, tmp_path):
    play({"kind": "fedavg_ft", "fine_tune_after": 2}, tmp_path / "run", **WORLD | EVERY_ROUND)
    rows = pd.read_parquet(tmp_path / "run" / "metrics")
    assert rows.t_s.min() > 120.0
    assert set(rows.stage) == {"trained"}


@pytest.mark.parametrize(
    ("accuracy", "best", "first"), [(0.2, 0.1, 1.0), (0.1, 0.2, 0.0), (0.1, 0.1, 1.0)]
)
def test_the_later_of_two_equally_good_models_is_kept(accuracy, best, first):
    assert higher(torch.tensor(accuracy), torch.tensor(best)).tolist() == [first, 1 - first]


def test_outputs_that_are_no_numbers_never_hit():
    outputs = torch.tensor([[0.0, 1.0], [torch.nan, 1.0], [2.0, 1.0]])
    batch = Batch(outputs, torch.tensor([1, 0, 1]))
    assert float(hit_rate(lambda x: x, batch)) == pytest.approx(1 / 3)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
@pytest.mark.parametrize("fine_tune", [False, True])
def test_fedprox(play, world, fine_tune):
    run = play({"kind": "fedprox", "strength": 0.7, "fine_tune": fine_tune}, **world)
    given = Given(run)
    w = given.initial
    for t in range(ROUNDS):

        def near(row, x, y, w=w):
            return cross_entropy(row, x, y) + 0.35 * ((row - w) ** 2).sum()

        thetas = [sgd(w, given.epoch(i, t), near) for i in range(NODES)]
        w = mean(thetas, given.sizes)
    close(shown(run, "trained"), thetas)
    if fine_tune:
        assert set(run.parts[0].publishing.published) == {"trained"}
    else:
        close(shown(run, "mixed"), [w] * NODES)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
def test_ditto(play, world):
    run = play({"kind": "ditto", "strength": 0.7, "local_steps": 3}, **world)
    given = Given(run)
    w = given.initial
    v = [w.clone() for _ in range(NODES)]
    for t in range(ROUNDS):

        def near(row, x, y, w=w):
            return cross_entropy(row, x, y) + 0.35 * ((row - w) ** 2).sum()

        for i in range(NODES):
            v[i] = sgd(v[i], given.batches(i, 3 * t, 3, "personal"), near)
        w = mean([sgd(w, given.batches(i, 3 * t, 3)) for i in range(NODES)], given.sizes)
    close(shown(run, "trained"), v)


@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
def test_fedavg_plus(play, world):
    """From 60 s on, the second of three rounds, w <- w + 0.3 (mean - w)."""
    algorithm = {"kind": "fedavg_plus", "switch_s": 60.0, "epsilon": 0.3}
    run = play(algorithm | {"fine_tune_learning_rate": 0.05}, **world)
    given = Given(run)
    w = given.initial
    for t in range(ROUNDS):
        rate = RATE if t == 0 else 0.05
        thetas = [sgd(w, given.epoch(i, t), rate=rate) for i in range(NODES)]
        average = mean(thetas, given.sizes)
        w = average if t == 0 else w + 0.3 * (average - w)
    close(shown(run, "trained"), thetas)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
def test_fedavg_with_a_falling_rate_is_fedavg_plus_that_goes_all_the_way(play, world):
    falls = {"switch_s": 60.0, "fine_tune_learning_rate": 0.05}
    mine = play({"kind": "fedavg", **falls}, **world)
    plus = play({"kind": "fedavg_plus", "epsilon": 1.0, **falls}, **world)
    close(shown(mine, "trained"), shown(plus, "trained"))
    assert np.abs(np.subtract(shown(play({"kind": "fedavg"}, **world), "trained"),
                              shown(mine, "trained"))).max() > 1e-3  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize("world", [WORLD, RING, UNEVEN], ids=["complete", "ring", "uneven"])
@pytest.mark.parametrize("amount", [{}, {"local_epochs": 1}, {"local_steps": 2}])
def test_dpsgd(play, world, amount):
    epochs, steps = amount.get("local_epochs"), amount.get("local_steps", 1)
    run = play({"kind": "dpsgd", **amount}, **world)
    given = Given(run)
    w = metropolis(run.world.neighbours)
    x = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        used = [
            given.epoch(i, t) if epochs else given.batches(i, t * steps, steps)
            for i in range(NODES)
        ]
        step = [sgd(x[i], used[i]) - x[i] for i in range(NODES)]
        x = [sum(w[i, j] * x[j] for j in range(NODES)) + step[i] for i in range(NODES)]
    close(shown(run, "mixed"), x)


@pytest.mark.parametrize("world", [WORLD, UNEVEN], ids=["complete", "uneven"])
def test_dfedavgm(play, world):
    """Heavy-ball steps as the paper writes them: y_{k+1} = y_k - eta g + theta (y_k - y_{k-1})."""
    training = {"learning_rate": RATE, "momentum": 0.9, "batch_size": 10, "dtype": "float64"}
    run = play({"kind": "dfedavgm", "local_steps": 4}, **world | {"training": training})
    given = Given(run)
    w = metropolis(run.world.neighbours)
    x = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        z = []
        for i in range(NODES):
            before, y = x[i], x[i]
            for batch in given.batches(i, 4 * t, 4):
                step = sgd(y, [batch]) - y
                before, y = y, y + step + 0.9 * (y - before)
            z.append(y)
        x = [sum(w[i, j] * z[j] for j in range(NODES)) for i in range(NODES)]
    close(shown(run, "mixed"), x)


@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
def test_fedsim(play, world):
    run = play({"kind": "fedsim"}, **world)
    given = Given(run)
    cut = HIDDEN * 65
    theta = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        theta = [sgd(theta[i], given.epoch(i, t)) for i in range(NODES)]
        head = mean([row[cut:] for row in theta], [1] * NODES)
        trained, theta = theta, [torch.cat([row[:cut], head]) for row in theta]
    close(shown(run, "trained"), trained)
    close(shown(run, "mixed"), theta)


def supervised_contrast(z, y, temperature, base):
    """Khosla et al. 2020, Eq. (2), anchor by anchor."""
    total = 0.0
    for a in range(len(z)):
        others = [b for b in range(len(z)) if b != a]
        positives = [b for b in others if y[b] == y[a]]
        s = z @ z[a] / temperature
        log_sum = torch.logsumexp(s[others], 0)
        total = total - sum(s[b] - log_sum for b in positives) / len(positives)
    return temperature / base * total / len(z)


def log_of_sums(z, y, temperature):
    z = z / z.norm(dim=1, keepdim=True)
    e = torch.exp(z @ z.T / temperature)
    total = 0.0
    for a in range(len(z)):
        positive = sum(e[a, b] for b in range(len(z)) if b != a and y[b] == y[a])
        negative = sum(e[a, b] for b in range(len(z)) if y[b] != y[a])
        total = total - torch.log(positive / (positive + negative))
    return total / len(z)


@pytest.mark.slow
@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("world", "contrast"), [(WORLD, "code"), (SERVER, "code"), (WORLD, "mapl")]
)
def test_fedclassavg(play, world, contrast):
    rate = 0.005
    training = {"learning_rate": rate, "batch_size": 10, "dtype": "float64"}
    algorithm = {"kind": "fedclassavg", "rho": 50.0, "contrast": contrast, "local_epochs": 2}
    run = play(algorithm | {"augmentation": NO_VIEWS}, **world | {"training": training})
    given = Given(run)
    cut = HIDDEN * 65
    theta = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        trained = []
        for i in range(NODES):

            def loss(row, x, y, start=theta[i]):
                z = features(row, x).repeat(2, 1)
                twice = y.repeat(2)
                found = cross_entropy(row, x, y)
                if contrast == "mapl":
                    found = found + log_of_sums(z, twice, 100.0)
                else:
                    found = found + supervised_contrast(z, twice, 100.0, 0.07)
                for now, was in zip(layers(row)[2:], layers(start)[2:], strict=True):
                    found = found + 50.0 / 2 * ((now - was) ** 2).mean()
                return found

            trained.append(sgd(theta[i], given.epoch(i, t, 2), loss, rate))
        head = mean([row[cut:] for row in trained], given.sizes)
        theta = [torch.cat([row[:cut], head]) for row in trained]
    close(shown(run, "trained"), trained)
    close(shown(run, "mixed"), theta)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("world", [WORLD, SERVER], ids=["peers", "server"])
@pytest.mark.parametrize("predict", ["head", "prototype"])
def test_fedproto(play, world, predict):
    run = play({"kind": "fedproto", "strength": 2.0, "predict": predict}, **world)
    given = Given(run)
    theta = [given.initial for _ in range(NODES)]
    prototypes = {}
    for t in range(ROUNDS):

        def loss(row, x, y, known=prototypes):
            z = features(row, x)
            target = torch.stack(
                [known.get(int(c), z[k].detach()) for k, c in enumerate(y)]
            )  # fmt: skip
            return cross_entropy(row, x, y) + 2.0 * ((target - z) ** 2).mean()

        theta = [sgd(theta[i], given.epoch(i, t), loss) for i in range(NODES)]
        held = {}
        for i in range(NODES):
            x, y = given.split(i, "train")
            z = features(theta[i], x)
            for c in sorted({int(c) for c in y}):
                held.setdefault(c, []).append(z[y == c].mean(0))
        prototypes = {c: torch.stack(rows).mean(0) for c, rows in held.items()}
    close(shown(run, "trained"), theta)
    if predict == "prototype":
        assert accuracies(run) == [nearest(given, i, theta[i], prototypes) for i in range(NODES)]


def accuracies(run):
    run.evaluator.run(0)
    found = run.recorder.metric_rows()
    rows = zip(found["metric"], found["node"], found["value"], strict=True)
    last = {node: value for metric, node, value in rows if metric == "accuracy"}
    return [last[i] for i in range(NODES)]


def nearest(given, i, row, prototypes):
    own = {int(c) for c in given.split(i, "train")[1]}
    x, y = given.split(i, "test")
    hits = 0
    for z, c in zip(features(row, x), y, strict=True):
        distances = {k: float(((z - p) ** 2).mean()) for k, p in prototypes.items() if k in own}
        hits += min(distances, key=distances.get) == int(c)
    return hits / len(y)


class Identity:
    """Features are the inputs, the head is twice the identity."""

    def features(self, x):
        return x

    def head(self, z):
        return 2 * z


def test_fedprotos_distance_is_0_for_a_class_without_a_prototype():
    """Row 0 is of class 1, whose prototype (1, 1, 1) is 1 off in one of 2 x 3 entries."""
    x, y = torch.tensor([[1.0, 2.0, 1.0], [5.0, 5.0, 6.0]]), torch.tensor([1, 2])
    prototypes = torch.tensor([[9.0, 9.0, 9.0], [1.0, 1.0, 1.0]])
    loss = prototype_loss(Identity(), Batch(x, y), {}, prototypes, (0, 1), 3.0)
    expected = F.cross_entropy(2 * x, y) + 3.0 * 1.0 / 6
    torch.testing.assert_close(loss, expected)


def test_fedproto_predicts_among_the_classes_that_its_node_has():
    x = torch.tensor([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    prototypes = torch.tensor([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    logits = by_nearest(Identity(), x, prototypes, (0, 2), (True, True))
    assert logits.tolist() == [[0.0, -100.0, -3.0], [-3.0, -100.0, 0.0]]
    logits = by_nearest(Identity(), x, prototypes, (0, 2), (False, True))
    assert logits.tolist() == [[-100.0, -100.0, -3.0], [-100.0, -100.0, 0.0]]


def test_fedproto_sends_the_classes_held_alone(play, tmp_path):
    run = play({"kind": "fedproto"}, tmp_path / "run", **WORLD)
    log = pd.read_parquet(tmp_path / "run" / "messages")
    for src, bits in log.groupby("src").bits:
        classes = len(set(Given(run).split(src, "train")[1].tolist()))
        assert set(bits) == {32 * (classes + classes * HIDDEN)}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("downloads", [None, 2])
def test_fedfomo(play, norm, downloads):
    limit = {} if downloads is None else {"downloads": downloads}
    run = play(
        {"kind": "fedfomo", "norm": norm, "epsilon": 0.9, "epsilon_decay": 0.4, **limit}, **WORLD
    )
    given = Given(run)
    theta = [given.initial for _ in range(NODES)]
    peers = [[j for j in range(NODES) if j != i] for i in range(NODES)]
    preference = np.zeros((NODES, NODES))
    explored = kept = 0
    for t in range(ROUNDS):
        trained = [sgd(theta[i], given.epoch(i, t)) for i in range(NODES)]
        mixed = []
        for i in range(NODES):
            candidates = list(peers[i])
            if downloads:
                coins = given.draws(i, "coin", 2 * t, 2)
                shuffled = by_draw(peers[i], given.draws(i, "explore", 4 * t, 4))
                ties = by_draw(peers[i], given.draws(i, "ties", 4 * t, 4))
                best = sorted(ties, key=lambda j, i=i: -preference[i, j])
                candidates = []
                for coin in coins:
                    explored += coin < 0.9 - 0.4 * t
                    queue = shuffled if coin < 0.9 - 0.4 * t else best
                    candidates.append(next(j for j in queue if j not in candidates))
            data = given.split(i, "validation")
            before = float(cross_entropy(theta[i], *data))
            quotients = {}
            for j in [i, *candidates]:
                change = (trained[j] - theta[i]).abs()
                length = float(change.sum() if norm == "l1" else (change**2).sum() ** 0.5)
                quotients[j] = (before - float(cross_entropy(trained[j], *data))) / length
            positive = {j: q for j, q in quotients.items() if q > 0}
            kept += len(positive) < len(quotients)
            row = theta[i].clone()
            for j, q in positive.items():
                row += q / sum(positive.values()) * (trained[j] - theta[i])
            mixed.append(row)
            for j in candidates:
                preference[i, j] += quotients[j] / abs(sum(quotients.values()))
        theta = mixed
    close(shown(run, "mixed"), theta)
    assert kept
    assert explored or not downloads


def by_draw(ids, draws):
    return [ids[k] for k in np.argsort(draws, kind="stable")]


def test_fedfomo_downloads_no_more_than_it_may(play, tmp_path):
    play({"kind": "fedfomo", "downloads": 2}, tmp_path / "run", **WORLD)
    log = pd.read_parquet(tmp_path / "run" / "messages")
    assert (log[log.kind == "Model"].groupby("dst").size() == 2 * ROUNDS).all()
    wishes = log[log.kind == "Wish"]
    assert (wishes.groupby("dst").size() == (NODES - 1) * ROUNDS).all()
    assert set(wishes.bits) == {1}


WITH_SERVER = {
    "fedavg": {},
    "fedavg_ft": {"fine_tune_after": 2},
    "fedavg_plus": {"switch_s": 60.0},
    "fedprox": {},
    "ditto": {},
    "fedsim": {},
    "fedclassavg": {"temperature": 1.0, "base_temperature": 1.0},
    "fedproto": {},
}


@pytest.mark.thinned(8)
@pytest.mark.parametrize("kind", WITH_SERVER)
def test_peers_that_hear_all_others_need_no_server(play, models, kind):
    """To the bit, running statistics of BatchNorm included."""
    algorithm = {"kind": kind, **WITH_SERVER[kind]}
    model = {"model": {"kind": "iot_mlp", "hidden": 8}}
    alone = models(play(algorithm, **WORLD | model))
    served = play(algorithm, **SERVER | model)
    rows = [node.publishing.last_published().ref.tensor() for node in served.parts[:NODES]]
    assert all(a.equal(b) for a, b in zip(alone, rows, strict=True))
    assert served.parts[NODES].publishing.published == {}


@pytest.mark.parametrize(
    "kind", ["dpsgd", "dfedavgm", "fedfomo", "dpfl", "mapl", "l2c", "meta_l2c"]
)
def test_methods_between_peers_refuse_a_topology_of_servers_alone(play, kind):
    with pytest.raises(NetsimError, match="works between peers"):
        play({"kind": kind}, **SERVER)


def test_two_servers_are_refused(play):
    groups = [{"name": "servers", "count": 2, "role": "server"}]
    with pytest.raises(NetsimError, match="more than one node of role server"):
        play({"kind": "fedavg"}, **WORLD | {"nodes": {"count": NODES + 2, "groups": groups}})


def test_steps_and_epochs_exclude_each_other(play):
    with pytest.raises(NetsimError, match="give local_epochs or local_steps, not both"):
        play({"kind": "fedprox", "local_steps": 2, "local_epochs": 1}, **WORLD)


def heard_in(folder):
    """{round: {dst: [src, ...]}} of the models delivered."""
    log = pd.read_parquet(folder / "messages")
    log = log[log.outcome == "delivered"]
    rounds = {}
    for row in log.itertuples():
        rounds.setdefault(row.round, {}).setdefault(row.dst, []).append(row.src)
    return rounds


@pytest.mark.thinned(3)
@pytest.mark.parametrize("absent", ["renormalise", "self", "last"])
def test_what_an_absent_peer_means_to_fedavg(play, tmp_path, absent):
    algorithm = {"kind": "fedavg", "absent": absent}
    run = play(algorithm, tmp_path / "run", **LOSSY)
    given, heard = Given(run), heard_in(tmp_path / "run")
    theta = [given.initial for _ in range(NODES)]
    last = [{} for _ in range(NODES)]
    for t in range(ROUNDS):
        trained = [sgd(theta[i], given.epoch(i, t)) for i in range(NODES)]
        for i in range(NODES):
            present = sorted(heard[t + 1].get(i, []))
            last[i] |= {j: trained[j] for j in present}
            rows = {i: (trained[i], given.sizes[i])}
            for j in range(NODES):
                if j in present:
                    rows[j] = (trained[j], given.sizes[j])
                elif j != i and absent == "self":
                    rows[j] = (trained[i], given.sizes[i])
                elif j != i and absent == "last" and j in last[i]:
                    rows[j] = (last[i][j], given.sizes[j])
            theta[i] = mean([r for r, _ in rows.values()], [n for _, n in rows.values()])
    close(shown(run, "mixed"), theta)
    assert sum(len(v) for v in heard[1].values()) < NODES * (NODES - 1)


def test_what_an_absent_neighbour_would_get_stays_with_the_node_in_gossip(play, tmp_path):
    run = play({"kind": "dpsgd"}, tmp_path / "run", **LOSSY)
    given, heard = Given(run), heard_in(tmp_path / "run")
    x = [given.initial for _ in range(NODES)]
    for t in range(ROUNDS):
        step = [sgd(x[i], given.batches(i, t, 1)) - x[i] for i in range(NODES)]
        present = [[j for j in range(NODES) if j in heard[t + 1].get(i, [])] for i in range(NODES)]
        x = [
            sum(x[j] / NODES for j in present[i])
            + (1 - len(present[i]) / NODES) * x[i]
            + step[i]
            for i in range(NODES)
        ]  # fmt: skip
    close(shown(run, "mixed"), x)


def test_a_client_without_an_answer_goes_on_from_its_own_model(play, tmp_path):
    world = SERVER | {"link": {"loss": 0.4, "latency_s": 0.01}}
    run = play({"kind": "fedavg"}, tmp_path / "run", **world)
    given, heard = Given(run), heard_in(tmp_path / "run")
    theta = [given.initial for _ in range(NODES)]
    answered = 0
    for t in range(ROUNDS):
        theta = [sgd(theta[i], given.epoch(i, t)) for i in range(NODES)]
        up = sorted(heard[t + 1].get(NODES, []))
        if up:
            w = mean([theta[j] for j in up], [given.sizes[j] for j in up])
            down = [i for i in range(NODES) if NODES in heard[t + 1].get(i, [])]
            theta = [w if i in down else theta[i] for i in range(NODES)]
            answered += len(down)
    final = [node.publishing.last_published().ref.tensor() for node in run.parts[:NODES]]
    close(final, theta)
    assert 0 < answered < NODES * ROUNDS


def test_without_rounds_a_server_answers_by_its_own_clock(play):
    """Clients that sleep long after the server's last wake-up all hold its last mean."""
    exchange = {"schedule": "periodic", "period_s": 50.0}
    world = SERVER | {"exchange": exchange, "compute": {"kind": "fixed", "step_s": 0.01}}
    run = play({"kind": "fedavg"}, **world)
    mixed = shown(run, "mixed")
    assert all(row.equal(mixed[0]) for row in mixed)
    assert run.nodes[NODES].round >= 3


@pytest.mark.thinned(6)
@pytest.mark.parametrize("kind", ["local", "fedavg", "fedavg_plus"])
@pytest.mark.parametrize("pace", ["slots", "rounds"])
def test_a_node_that_wakes_by_itself_works_in_slots_or_in_rounds(play, kind, pace):
    world = WORLD | {"exchange": {"schedule": "periodic", "period_s": 50.0, "slot_s": 1.0}}
    more = {"switch_s": 60.0} if kind == "fedavg_plus" else {}
    more |= {"local_steps": 2} if pace == "rounds" else {}
    run = play({"kind": kind, "pace": pace, **more}, **world)
    steps = [node.processor.local_steps for node in run.parts]
    if pace == "rounds":
        assert steps == [2 * node.round for node in run.nodes]
    else:
        assert min(steps) > 100


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", ["local", "fedavg", "fedavg_plus"])
@pytest.mark.parametrize(
    ("pace", "key", "value"),
    [
        *(("slots", key, 2) for key in ("local_steps", "local_epochs")),
        ("slots", "weights", "equal"),
        *(("rounds", key, 2) for key in ("timeout_s", "tries")),
        ("rounds", "broadcast", "cache"),
        ("rounds", "uninvolved_train", True),
    ],
)
def test_parameters_of_the_other_pace_are_refused(play, kind, pace, key, value):
    world = WORLD | {"exchange": {"schedule": "periodic", "period_s": 50.0, "slot_s": 1.0}}
    more = {"switch_s": 60.0} if kind == "fedavg_plus" else {}
    has_none = kind == "local" and key in ("weights", "timeout_s", "tries", "broadcast")
    message = "is not a key of this table" if has_none else f"{key} is for nodes that work in"
    with pytest.raises(NetsimError, match=message):
        play({"kind": kind, "pace": pace, key: value, **more}, **world)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("max_age_s", [None, 100.0, 30.0])
def test_models_that_come_after_the_deadline_count_as_last_ones_until_they_are_too_old(
    play, max_age_s
):
    """Everything arrives 20 s after it is sent, rounds end after 15 s: models are 60 s old."""
    limit = {} if max_age_s is None else {"max_age_s": max_age_s}
    exchange = {"schedule": "rounds", "interval_s": 60.0, "deadline_s": 15.0}
    world = WORLD | {"exchange": exchange, "link": {"latency_s": 20.0}}
    run = play({"kind": "fedavg", "absent": "last", "local_steps": 2, **limit}, **world)
    given = Given(run)
    theta = [given.initial for _ in range(NODES)]
    before = None
    for t in range(ROUNDS):
        trained = [sgd(theta[i], given.batches(i, 2 * t, 2)) for i in range(NODES)]
        theta = trained
        if before and max_age_s != 30.0:
            theta = [
                mean([before[j] if j != i else trained[i] for j in range(NODES)], given.sizes)
                for i in range(NODES)
            ]
        before = trained
    close(shown(run, "mixed"), theta)


@pytest.mark.slow
def test_fedfomo_chooses_without_rounds_over_links_that_lose_messages(play):
    exchange = {"schedule": "poisson", "rate_hz": 0.1, "slot_s": 1.0}
    world = LOSSY | {"exchange": exchange}
    run = play({"kind": "fedfomo", "downloads": 2}, **world)
    assert min(node.round for node in run.nodes) > 5
    assert all("mixed" in node.publishing.published for node in run.parts)
    given = Given(run)
    weights = [ref.tensor() for *_, ref in logged(run)]
    assert all(len(w) <= 3 and abs(float(w.sum()) - 1) < 1e-12 for w in weights)
    assert max(len(w) for w in weights) == 3
    assert not any(row.equal(given.initial) for row in shown(run, "mixed"))


@pytest.mark.thinned(8)
@pytest.mark.parametrize("kind", ["dpsgd", "l2c", "meta_l2c"])
def test_running_statistics_are_those_of_the_own_training(play, kind):
    """Variances plus weighted changes of variances, as parameters are mixed, would fall below 0."""
    algorithm = {"kind": kind, "local_epochs": 3}
    if kind != "dpsgd":
        algorithm |= {"prune_after": 2, "kept_peers": 2}
    partition = WORLD["data"]["partition"] | {"alpha": 0.05}
    data = WORLD["data"] | {"partition": partition}
    model = {"kind": "iot_mlp", "hidden": 16}
    run = play(algorithm, **WORLD | {"horizon_s": 599.0, "data": data, "model": model})
    for node in run.parts:
        mixed = node.publishing.published["mixed"].ref
        means_and_variances = mixed.part("buffers").tensor()
        assert (means_and_variances[64:] >= 0).all()
        assert mixed.tensor().isfinite().all()
        if "trained" in node.publishing.published:
            trained = node.publishing.published["trained"].ref
            assert torch.equal(means_and_variances, trained.part("buffers").tensor())
