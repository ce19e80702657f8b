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
        `"module:server_app,module:client_app"`. `--components` gives the folder itself, because a
        scenario cannot name code to import. Empty: the only app given. Example: `"digits"`
    run_config
        Values in place of those of the app's `[tool.flwr.app.config]`, as of Flower's
        `--run-config`. Example: `{ num-server-rounds = 5 }`
    batch_size
        Examples of a local step, or the name of the run config's value that says it.
    epochs
        Passes over the examples of a training reply, or the name of the run config's value that
        says it. Example: `"local-epochs"`
    evaluate_share
        Time of a step of evaluation, as a share of one of training: a forward pass is a third.
    examples_key
        Name of the metric of a reply that has its number of examples.
    steps_key
        Name of the metric of a reply that has its number of local steps, in place of examples and
        epochs; empty: there is none.
    train_steps
        Local steps of a training, a number or the name of the run config's value that says it.
        One of the `workers` then computes the reply beside the simulation while these steps pass in
        virtual time. Absent: each reply says how many steps it took. Example: `40`
    evaluate_steps
        Batches of an evaluation, as `train_steps` gives the steps of a training. Absent: each reply
        says how many examples it took.
    workers
        Processes in which clients compute, with the same results. 0: clients compute in the run's
        own process, one after the other, and share the state of their modules.
    call_limit_s
        Wall time after which netsim ends a client's call, with an error reply to the server, and
        after which a ServerApp that does not return to its Grid ends the run. Clients then compute
        in `workers`, at least one. Absent: a call may take any time, and the run reports one that
        has taken a minute.
    poll_s
        Time for which a pull waits if there is no reply, unless one comes sooner [s].
    overhead_bytes
        Bytes of a message beside Flower's own encoding of it.
    tries
        Greatest number of times that a message is sent until its arrival is known.
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
