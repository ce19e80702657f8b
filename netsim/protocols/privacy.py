"""Differentially private local training, and what it has spent of its privacy.

Training is DP-SGD (`netsim.backends.job_types.private_train`); how much privacy its steps have cost
is for the accountants of Opacus to say (Yousefpour et al. 2021): the extra `privacy` installs it.
Epsilon is about one node's samples and the models that this node sends: who sees all of them learns
no more than (epsilon, delta) allows about whether a sample was among the node's. Noise comes from
the simulator's own draws, which whoever has the scenario can draw again: it protects nobody's data
outside of the simulation.
"""

import importlib
from typing import Annotated, Any, Literal

from pydantic import Field

from netsim.errors import UnsuitableError
from netsim.learning.privacy import Privacy
from netsim.learning.refs import Ref
from netsim.node.node import Node, Process
from netsim.registry import NonNegative, Positive, Table


class PrivacyParams(Table):
    """DP-SGD's clip and noise, and how epsilon is counted.

    Attributes
    ----------
    sample_clip_norm
        Largest L2 norm of the gradient of one sample: a longer one is scaled down to it. Source:
        Abadi et al., CCS 2016, Algorithm 1 (C).
    noise_multiplier
        Standard deviation of the noise, as a multiple of `sample_clip_norm`. Source: Abadi et al.,
        CCS 2016, Algorithm 1 (sigma).
    delta
        Probability with which the privacy of epsilon may fail, for which epsilon is counted.
    accountant
        Accountant of Opacus that counts epsilon.
    """

    sample_clip_norm: Positive = 1.0
    noise_multiplier: NonNegative = 1.0
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5
    accountant: Literal["rdp", "prv", "gdp"] = "rdp"


class PrivateTraining:
    """One node's private training, and its accountant.

    Parameters
    ----------
    node : Node
    params : PrivacyParams

    Raises
    ------
    UnsuitableError
        If Opacus is not installed.

    Examples
    --------
    >>> private = PrivateTraining(node, params)
    >>> while True:
    ...     yield node.wakeup()
    ...     theta = (yield from private.train(theta, epochs=1)).theta
    ...     node.record("epsilon", private.epsilon())
    """

    def __init__(self, node: Node, params: PrivacyParams) -> None:
        self._node, self._params = node, params
        self._accountant = _accountant(params.accountant)

    def train(self, theta: Ref, **how: Any) -> Process:
        """Train a model privately; run it by `yield from`, which gives `Trained`.

        Parameters
        ----------
        theta : Ref
        **how
            As `node.train` takes it.
        """
        node, params = self._node, self._params
        before = node.local_steps
        privacy = Privacy(params.sample_clip_norm, params.noise_multiplier)
        job = node.train(theta, privacy=privacy, **how)
        share = min(1.0, node.batch_size / node.train_size)
        for _ in range(node.local_steps - before):
            self._accountant.step(noise_multiplier=params.noise_multiplier, sample_rate=share)
        return (yield job)

    def epsilon(self) -> float:
        """Epsilon of all steps so far, those under way included; 0 before the first."""
        if len(self._accountant) == 0:
            return 0.0
        return float(self._accountant.get_epsilon(delta=self._params.delta))


def _accountant(name: str) -> Any:
    try:
        accountants: Any = importlib.import_module("opacus.accountants")
    except ImportError:
        raise UnsuitableError(
            "[algorithm]: counting privacy needs Opacus, which is not installed: "
            "pip install 'netsim-dfl[privacy]'"
        ) from None
    return accountants.create_accountant(mechanism=name)
