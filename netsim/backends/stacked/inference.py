"""Looking at models with data, many at once: outputs, losses, gradients, greedy selection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from netsim.backends.parameter_store import Memory, padded
from netsim.backends.stacked.lanes import LEAST_LANES
from netsim.backends.stacked.stacked_module import Form
from netsim.backends.stacked.workspace import cross_entropy_gradient
from netsim.learning.jobs import Gradient, Job, Loss, Outputs, Select
from netsim.learning.minibatches import Rows
from netsim.learning.refs import Ref
from netsim.learning.select import greedy_rounds
from netsim.learning.shards import Shards

VALUES_AT_ONCE = 1 << 22
"""Inputs of one pass: more would leave the cache, or a GPU's memory."""


class Looking:
    """Passes in evaluation mode over models of one architecture.

    Parameters
    ----------
    form : Form
    shards : Shards
    memory : Memory
    """

    def __init__(self, form: Form, shards: Shards, memory: Memory) -> None:
        self._form, self._shards, self._memory = form, shards, memory

    def lanes_at_once(self, samples: int) -> int:
        """How many models look at so many samples each in one pass."""
        values = self._shards.x[0].numel() * samples + self._form.architecture.num_values
        return max(LEAST_LANES, VALUES_AT_ONCE // values)

    def _rows(self, count: int) -> Tensor:
        a = self._form.architecture
        return torch.empty((count, padded(a.num_values)), device=a.device, dtype=a.dtype)

    @torch.no_grad()
    def logits(self, rows: Tensor, index: Tensor) -> Iterator[tuple[slice, Tensor]]:
        """Outputs of models, chunk by chunk: which lanes, and their outputs (lanes, n, L).

        Parameters
        ----------
        rows : torch.Tensor
            (W, padded D)
        index : torch.Tensor
            (W, n) sample numbers.
        """
        count, chunk = len(rows), self.lanes_at_once(index.shape[1])
        for start in range(0, count, chunk):
            lanes = slice(start, min(start + chunk, count))
            width = lanes.stop - start
            some, seen = rows[lanes], index[lanes]
            wide = self._form.width_for(width, index.shape[1])
            if width < wide:
                again = [*range(width), *[width - 1] * (wide - width)]
                some, seen = some[again], seen[again]
            self._form.bind(some[:, : self._form.architecture.num_values])
            self._form.lanes.mask = self._form.lanes.counts = None
            x = self._shards.x.index_select(0, seen.reshape(-1))
            y = self._form.outputs(x)
            yield lanes, y.view(len(some), seen.shape[1], -1)[:width]

    def predictions(self, asked: Sequence[tuple[Ref, Rows]]) -> list[Tensor]:
        """Outputs (n_i, L), on the CPU, of models on samples that are padded to one size."""
        rows = self._rows(len(asked))
        self._memory.gather([ref for ref, _ in asked], rows)
        index = torch.from_numpy(np.stack([padded_rows(r) for _, r in asked])).to(rows.device)
        found: list[Tensor] = []
        for lanes, y in self.logits(rows, index):
            sizes = [len(r) for _, r in asked[lanes]]
            found += [one[:n] for one, n in zip(y.cpu(), sizes, strict=True)]
        return found

    def outputs(self, jobs: Sequence[Job]) -> list[list[Tensor]]:
        """Results of `Outputs` jobs whose minibatches are as large."""
        refs = [r for j in jobs for r in j.inputs]
        rows = self._rows(len(refs))
        self._memory.gather(refs, rows)
        seen = []
        for job in jobs:
            assert isinstance(job.work, Outputs)
            seen += [self._shards.batch_rows(job.work.batch)] * len(job.inputs)
        index = torch.from_numpy(np.stack(seen)).to(rows.device)
        found = torch.cat([y for _, y in self.logits(rows, index)])
        results, at = [], 0
        for job in jobs:
            results.append([found[at : at + len(job.inputs)].clone()])
            at += len(job.inputs)
        return results

    def _padded_split(self, job: Job) -> tuple[np.ndarray, int]:
        work = job.work
        assert isinstance(work, Loss | Gradient | Select)
        split = "validation" if isinstance(work, Select) else work.split
        rows = self._shards.split_rows(work.node, split)
        return padded_rows(rows), len(rows)

    def _table(self, jobs: Sequence[Job], device: torch.device) -> tuple[Tensor, Tensor]:
        """Sample numbers (W, n) of the jobs' splits, and each sample's share of the mean."""
        each = [self._padded_split(j) for j in jobs]
        index = torch.from_numpy(np.stack([rows for rows, _ in each])).to(device)
        sizes = np.array([n for _, n in each])
        kept = np.arange(index.shape[1]) < sizes[:, None]
        share = torch.from_numpy(kept / sizes[:, None]).to(device, self._memory.dtype)
        return index, share

    def _losses(self, rows: Tensor, index: Tensor, share: Tensor) -> Tensor:
        """Mean cross-entropy (W,) of models on their samples."""
        found = []
        for lanes, y in self.logits(rows, index):
            labels = self._shards.y[index[lanes]].unsqueeze(-1)
            loss = -torch.log_softmax(y, dim=-1).gather(-1, labels).squeeze(-1)
            kept = share[lanes]
            # A diverged model's loss is nan on padding, too, where 0 * nan would be.
            found.append(torch.where(kept > 0, loss * kept, 0.0).sum(1))
        return torch.cat(found)

    def losses(self, jobs: Sequence[Job]) -> list[list[Tensor]]:
        """Results of `Loss` jobs whose splits are padded to one size."""
        rows = self._rows(len(jobs))
        self._memory.gather([j.inputs[0] for j in jobs], rows)
        losses = self._losses(rows, *self._table(jobs, rows.device))
        return [[loss.clone()] for loss in losses]

    def gradients(self, jobs: Sequence[Job]) -> list[list[Tensor]]:
        """Results of `Gradient` jobs whose splits are padded to one size."""
        a, lanes = self._form.architecture, self._form.lanes
        rows = self._rows(len(jobs))
        self._memory.gather([j.inputs[0] for j in jobs], rows)
        index, share = self._table(jobs, rows.device)
        chunk = self.lanes_at_once(index.shape[1])
        results: list[list[Tensor]] = []
        for start in range(0, len(jobs), chunk):
            part = list(range(start, min(start + chunk, len(jobs))))
            width = self._form.width_for(len(part), index.shape[1])
            wide = [*part, *part[-1:] * (width - len(part))]
            some, seen, kept = rows[wide], index[wide], share[wide]
            gradient = torch.zeros_like(some)
            self._form.bind(some[:, : a.num_values], a.parameters_in(gradient))
            lanes.mask, lanes.counts, lanes.decay = None, None, 0.0
            each = seen.view(-1)
            labels, weight = self._shards.y[each].unsqueeze(1), kept.view(-1, 1)
            # The lambda is called before the loop goes on.
            self._form.differentiate(
                self._shards.x.index_select(0, each),
                lambda z, y=labels, w=weight: cross_entropy_gradient(z, y, w),  # type: ignore[misc]
            )
            gradient = gradient[:, : a.num_values]
            gradient[:, a.num_parameters :] = 0.0
            results += [[g.clone()] for g in gradient[: len(part)]]
        return results

    def selections(self, jobs: Sequence[Job]) -> list[list[Tensor]]:
        """Results of `Select` jobs whose splits are padded to one size, in lock-step."""
        results: list[list[Tensor]] = [[] for _ in jobs]
        asking = {}
        for i, job in enumerate(jobs):
            work = job.work
            assert isinstance(work, Select)
            values = [r.tensor() for r in job.inputs]
            state = values.pop() if work.has_state else None
            asking[i] = greedy_rounds(values, work.sizes, work.coins, work.budget, state)
        index, share = self._table(jobs, self._memory.device)
        answers: dict[int, list[float] | None] = dict.fromkeys(asking)
        while asking:
            questions: list[tuple[int, Tensor]] = []
            for i, rounds in list(asking.items()):
                try:
                    answer = answers[i]
                    rows = next(rounds) if answer is None else rounds.send(answer)
                    questions += [(i, row) for row in rows]
                except StopIteration as end:
                    results[i] = list(end.value)
                    del asking[i]
            answers = {i: [] for i in asking}
            for (i, _), loss in zip(questions, self._asked(questions, index, share), strict=True):
                found = answers[i]
                assert found is not None
                found.append(loss)
        return results

    def _asked(
        self, questions: Sequence[tuple[int, Tensor]], index: Tensor, share: Tensor
    ) -> list[float]:
        if not questions:
            return []
        whose = torch.tensor([i for i, _ in questions], device=index.device)
        length = self._form.architecture.num_values
        chunk, losses = self.lanes_at_once(index.shape[1]), []
        for start in range(0, len(questions), chunk):
            some = questions[start : start + chunk]
            rows = self._rows(len(some))
            torch.stack([row for _, row in some], out=rows[:, :length])
            nodes = whose[start : start + chunk]
            losses.append(self._losses(rows, index[nodes], share[nodes]))
        found: list[float] = torch.cat(losses).tolist()
        return found


def padded_rows(rows: Rows) -> Rows:
    """Sample numbers, the last one repeated up to the size of their bucket."""
    return rows[np.minimum(np.arange(bucket(len(rows))), len(rows) - 1)]


def bucket(samples: int) -> int:
    """Size to which a split is padded: at most a quarter more, and a function of its own size.

    Splits of many sizes then run together, and the sum over a split has as many terms, in the same
    order, whoever else is measured.
    """
    if samples <= 8:
        return 8
    step = 1 << max((samples - 1).bit_length() - 3, 0)
    return -(-samples // step) * step
