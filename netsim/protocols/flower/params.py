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
    train_steps, evaluate_steps
        Local steps of a training, batches of an evaluation, known before the client has computed:
        its reply is then computed beside the simulation, by one of the `workers`, until the steps
        have passed in virtual time. A number, or the name of the run config's value that says it;
        absent: replies tell. Example: `40`
    workers
        Processes in which clients compute, with the same results; 0: they do so in the run's own,
        one after the other, and share what their modules keep.
    call_limit_s
        Wall time after which a client's call is broken off, with an error reply, and after which
        a ServerApp that does not come back to its Grid ends the run. Clients then compute in one
        of the `workers`, at least one. Absent: they take as long as they need, and the run says so
        of one that has taken a minute.
    poll_s
        Time for which a pull waits if there is no reply, unless one comes sooner [s].
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
    train_steps: Index | str | None = None
    evaluate_steps: Index | str | None = None
    workers: Index = 0
    call_limit_s: Positive | None = None
    poll_s: Positive = 0.1
    overhead_bytes: Index = 0
    tries: Count = 1

    @property
    def client_processes(self) -> int:
        """Processes beside the run's own in which clients compute."""
        return max(self.workers, 0 if self.call_limit_s is None else 1)
