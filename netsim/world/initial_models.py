"""Every node's architecture and the parameters that it starts with."""

import torch
from torch import Tensor

from netsim.data.sets import Samples
from netsim.learning.architecture import Architecture, build_architecture
from netsim.rng import Streams
from netsim.scenario.tables import Scenario


def initial_models(
    scenario: Scenario,
    samples: Samples,
    streams: Streams,
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[tuple[Architecture, ...], tuple[Tensor, ...]]:
    """Node i has architecture i modulo their number.

    Parameters
    ----------
    scenario : Scenario
    samples : Samples
        Their shape and number of classes are those of a model's inputs and outputs.
    streams : Streams
    device, dtype
        Of the parameters.

    Returns
    -------
    architectures : tuple of Architecture
        By node; nodes of one architecture have the same object.
    rows : tuple of torch.Tensor
        (D,) initial parameters by node, D that of its architecture. One tensor for all nodes of an
        architecture with `[training] common_initial`, else each its own draw.
    """
    kinds = scenario.model
    layouts: list[Architecture] = []
    common: list[Tensor] = []
    rows: list[Tensor] = []

    def draw(which: int, *node: int) -> tuple[torch.nn.Module, Tensor]:
        seed = streams.key("initial model", which, *node)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed & 0x7FFFFFFFFFFFFFFF)
            module = kinds[which].build(samples.input_shape, samples.num_classes)
        on_cpu = Architecture("", module, torch.device("cpu"), dtype, samples.num_classes)
        return module, on_cpu.row()

    for which, kind in enumerate(kinds):
        module, row = draw(which)
        layouts.append(
            build_architecture(type(kind).__name__, module, device, dtype, samples.num_classes)
        )
        common.append(row.to(device))
    for node in range(scenario.nodes.count):
        which = node % len(kinds)
        if scenario.training.common_initial:
            rows.append(common[which])
        else:
            rows.append(draw(which, node)[1].to(device))
    return tuple(layouts[i % len(kinds)] for i in range(scenario.nodes.count)), tuple(rows)
