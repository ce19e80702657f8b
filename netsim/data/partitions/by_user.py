"""Each node has the samples of one user, or of some: clients, hospitals, devices.

Users are the data set's groups: writers of FEMNIST, users of LEAF, those that `[data] user` names.
As in FedScale and LEAF a real user's samples stay together; where users and nodes are not equally
many, the keys say what is done.
"""

from typing import ClassVar, Literal

import numpy as np

from netsim.data.partitions import Partition, Rows, Shard
from netsim.errors import ScenarioError
from netsim.registry import Count
from netsim.rng import Streams

_WHERE = '[data.partition] kind = "by_user"'


class ByUser(Partition):
    """Disjoint parts of whole users, unless there are fewer users than nodes.

    Parameters
    ----------
    min_samples : int
        Users with fewer training samples are left out; so are users without test samples, unless
        `test` is "all".
    more_users : {"draw", "largest", "all"}
        With more users than nodes: one user per node, drawn at random, or those with the most
        training samples (of equals that with the lower number); or all users, dealt out in a random
        order, as many to each node as to any other or one more.
    fewer_users : {"refuse", "split", "repeat"}
        With fewer users than nodes: an error; or the samples of users are split among several
        nodes, most of those with most; or several nodes have all samples of the same user.
    test : {"own", "all"}
        A node's test samples are those of its users, or all test samples: where training and test
        samples are of other users.
    """

    kind: Literal["by_user"] = "by_user"
    min_samples: Count = 1
    more_users: Literal["draw", "largest", "all"] = "draw"
    fewer_users: Literal["refuse", "split", "repeat"] = "refuse"
    test: Literal["own", "all"] = "own"

    goes_by: ClassVar[Literal["groups"]] = "groups"

    def split(
        self,
        labels: Rows,
        train: Rows,
        test: Rows,
        num_classes: int,
        nodes: int,
        streams: Streams,
        groups: Rows | None = None,
    ) -> list[Shard]:
        """Give each node its rows; see the base class."""
        of = labels if groups is None else groups
        sizes, tested = (np.bincount(of[rows], minlength=of.max() + 1) for rows in (train, test))
        usable = np.flatnonzero(sizes >= self.min_samples)
        if self.test == "own":
            usable = usable[tested[usable] > 0]
        if not len(usable):
            raise ScenarioError(
                f"{_WHERE}: none of {np.count_nonzero(sizes)} users has {self._needs()}; lower "
                'min_samples, or write test = "all"'
            )
        if len(usable) >= nodes:
            users = self._of_many(usable, sizes, nodes, streams)
            parts = [
                (train[np.isin(of[train], own)], test[np.isin(of[test], own)]) for own in users
            ]
        else:
            parts = self._of_few(usable, sizes, of, (train, test), nodes, streams)
        return [Shard(own, test if self.test == "all" else held) for own, held in parts]

    def _needs(self) -> str:
        """Describe the samples that a user must have."""
        own = " and a test sample" if self.test == "own" else ""
        return f"{self.min_samples} training samples or more{own}"

    def _of_many(self, usable: Rows, sizes: Rows, nodes: int, streams: Streams) -> list[Rows]:
        """The users of each node.

        Parameters
        ----------
        usable : (m,) int64
            At least as many users as nodes.
        sizes : (U,) int64
            Training samples of each user.
        nodes : int
        streams : Streams
        """
        if self.more_users == "largest":
            order = usable[np.argsort(-sizes[usable], kind="stable")][:nodes]
            return list(np.sort(order)[:, None])
        order = usable[streams.permutation("partition/by_user", n=len(usable))]
        if self.more_users == "draw":
            return list(np.sort(order[:nodes])[:, None])
        return [order[node::nodes] for node in range(nodes)]

    def _of_few(
        self,
        usable: Rows,
        sizes: Rows,
        of: Rows,
        rows: tuple[Rows, Rows],
        nodes: int,
        streams: Streams,
    ) -> list[tuple[Rows, Rows]]:
        """Training and test rows of each node.

        Parameters
        ----------
        usable : (m,) int64
            Fewer users than nodes.
        sizes : (U,) int64
            Training samples of each user.
        of : (n,) int64
            User of every row.
        rows : (train, test)
        nodes : int
        streams : Streams
        """
        if self.fewer_users == "refuse":
            raise ScenarioError(
                f"{_WHERE}: {nodes} nodes, but {len(usable)} users with {self._needs()}; take "
                'fewer nodes, or write fewer_users = "split" or "repeat"'
            )
        if self.fewer_users == "repeat":
            own = [tuple(part[of[part] == user] for part in rows) for user in usable]
            return [(own[node % len(own)][0], own[node % len(own)][1]) for node in range(nodes)]
        shares = np.ones(len(usable), dtype=np.int64)
        for _ in range(nodes - len(usable)):
            shares[np.argmax(sizes[usable] / shares)] += 1
        parts: list[tuple[Rows, Rows]] = []
        for user, share in zip(usable.tolist(), shares.tolist(), strict=True):
            if sizes[user] < share * self.min_samples:
                raise ScenarioError(
                    f"{_WHERE}: user {user} has {sizes[user]} training samples, too few for "
                    f"{share} nodes with {self.min_samples} each; take fewer nodes, or write "
                    'fewer_users = "repeat"'
                )
            cut = []
            for number, part in enumerate(rows):
                mine = part[of[part] == user]
                order = mine[streams.permutation("partition/by_user", user, number, n=len(mine))]
                cut.append(np.array_split(order, share))
            parts += zip(cut[0], cut[1], strict=True)
        return parts
