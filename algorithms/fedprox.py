"""FedProx: FedAvg whose local loss keeps models near the one they start from.

Source: Li, Sahu, Zaheer, Sanjabi, Talwalkar and Smith 2020, Algorithm 2 with the same local work
for all: node i minimises F_i(theta) + (strength / 2) ||theta - w||^2 from w, then models are
averaged. `strength` is 0.01 as a baseline of pFedGraph, 0.1 of DPFL.

`fine_tune`: FedProx-FT, whose model to report is the one after local training; with
`fine_tune_after` as `fedavg_ft` says.
Departures: the norm is over trained parameters, not over running statistics.

Personalizes: nothing; with `fine_tune` the model after local training.
Shares: the common model.
Sends: `b * theta + 32` per neighbour; with a server `b * theta + 32` up, `b * theta` down.
Needs: equal architectures; validation samples with `fine_tune_after`.
Cost a round: `S` steps, a mean.
Late or absent peers: the mean is over the models that came; with `absent`, the own model or the
peer's last one replaces a missing one. A client that gets no answer continues from its own model.
"""

from typing import Any, Self

from netsim.api import (
    AveragedModel,
    Node,
    NonNegative,
    Process,
    algorithm,
    model_validator,
    round_processes,
)

from . import fedavg_ft


class Params(fedavg_ft.Params):
    """Strength of the proximal term, and whether fine-tuned models are reported.

    Attributes
    ----------
    strength
        mu, weight of the distance to the model that a round started from; 0.01 as a baseline of
        pFedGraph, 0.1 of DPFL. Source: Li et al. 2020, Algorithm 2.
    fine_tune
        Whether the model after local training is the one to report (FedProx-FT).
    """

    strength: NonNegative = 0.01
    fine_tune: bool = False

    @model_validator(mode="after")
    def _fine_tuned_after(self) -> Self:
        if self.fine_tune_after is not None and not self.fine_tune:
            raise ValueError("fine_tune_after is for fine_tune = true")
        return self


@algorithm(
    needs_validation=lambda params: params.fine_tune_after is not None, common_parts=("parameters",)
)
def processes(node: Node, params: Params) -> list[Process]:
    """Rounds of FedProx, with or without fine-tuning."""
    if params.fine_tune:
        return round_processes(node, params, fedavg_ft.FineTuned(node, params, params.strength))
    return round_processes(node, params, FedProx(node, params))


class FedProx(AveragedModel[Params]):
    """One node, whose model keeps near w."""

    def how(self) -> dict[str, Any]:
        return {"anchor": (self.model.theta, self.params.strength), **super().how()}
