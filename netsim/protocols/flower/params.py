"""Keys of a Flower app in a scenario."""

from __future__ import annotations

from collections.abc import Mapping

from netsim.registry import Count, Index, NonNegative, Positive, Table

Value = bool | int | float | str
"""A value of Flower's run config."""


class FlowerParams(Table):
    """A Flower app, and its time and bits.

    Attributes
    ----------
    app
        The app: the name in its pyproject.toml or of its folder, or two objects in that folder,
        `"module:server_app,module:client_app"`. The folder itself is given by `--components`, for
        no scenario names code to import. Empty: the only one that is given. Example: `"digits"`
    run_config
        Values in place of those of the app's `[tool.flwr.app.config]`, as of Flower's
        `--run-config`. Example: `{ num-server-rounds = 5 }`
    batch_size
        Examples of a local step, or the name of the run config's value that says it.
    epochs
        Passes over the examples that a reply names when it trained, or the name of the run
        config's value that says it. Example: `"local-epochs"`
    evaluate_share
        Time of a step of evaluation, as a share of one of training: a forward pass is a third.
    examples_key
        Name of the metric by which replies tell their number of examples.
    steps_key
        Name of the metric by which replies tell their number of local steps, in place of examples
        and epochs; empty: none does.
    poll_s
        Time that a pull takes which finds no reply, unless one comes sooner [s].
    overhead_bytes
        Bytes of a message beside Flower's own encoding of it.
    tries
        Number of times that a message is sent, until it is known to have arrived.
    """

    app: str = ""
    run_config: Mapping[str, Value] = {}
    batch_size: Count | str = 32
    epochs: Count | str = 1
    evaluate_share: NonNegative = 1 / 3
    examples_key: str = "num-examples"
    steps_key: str = ""
    poll_s: Positive = 0.1
    overhead_bytes: Index = 0
    tries: Count = 1
