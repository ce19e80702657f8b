"""A job type is one file: these are added here, and run on every backend."""

import importlib
import pkgutil
from dataclasses import dataclass

import pytest
import torch

from netsim.backends import job_types
from netsim.backends.grouping import GroupedExecution
from netsim.backends.job_type import (
    Call,
    Declined,
    GroupKernel,
    job_type,
    offer_kernel,
    register,
)
from netsim.backends.job_types.apply import Apply
from netsim.backends.ways import Ways
from netsim.errors import ComputeError
from netsim.learning.jobs import Job
from netsim.learning.refs import Cell, Ref

LIMITS = (10**9, 10**9)
NODE_AFTER_NODE = {"private_train"}
"""Job types of which the gradients of single samples fill a call by themselves."""


@dataclass(frozen=True)
class Scale:
    """A row times a number: input the row."""

    factor: float

    def describe(self):
        return f"scaling by {self.factor:g}"


def scale_one(job, plain):
    if job.work.factor == 13.0:
        raise ArithmeticError("thirteen")
    return [job.inputs[0].tensor() * job.work.factor]


def same_length(job, resources):
    if job.work.factor < 0:
        return Declined("negative factors are not stacked")
    return (job.inputs[0].num_values,)


GROUPS = []


def scale_many(signature, jobs, resources):
    def run(some, width):
        GROUPS.append(len(some))
        assert len(some) <= width
        if any(job.work.factor == 13.0 for job in some):
            raise ArithmeticError("somebody's thirteen")
        rows = torch.stack([job.inputs[0].tensor() for job in some])
        factors = torch.tensor([[job.work.factor] for job in some], dtype=rows.dtype)
        resources.fill(some, [[row] for row in rows * factors])

    return Call(run, 4)


register(Scale, scale_one, stacked=GroupKernel(same_length, scale_many, purpose="infer"))


@dataclass(frozen=True)
class Halve:
    """A type without a kernel for groups."""

    def describe(self):
        return "halving"


register(Halve, lambda job, plain: [job.inputs[0].tensor() / 2])


def recorded(node, work):
    """Record such work by a verb of a node."""
    theta = node.initial()
    scheduler = theta.cell.scheduler
    cell = Cell(scheduler, theta.shape, theta.architecture)
    scheduler.submit(work, node.id, (theta,), (cell,))
    return Ref(node.id, cell)


@pytest.fixture
def twice(build, play):
    """A program on the sequential and on the stacked backend."""

    def run(program):
        GROUPS.clear()
        built = build()
        return [play(built, program, name, LIMITS) for name in ("sequential", "stacked")]

    return run


def test_a_type_added_by_a_file_runs_on_both_backends(twice, assert_equal_values):
    def program(node, keep):
        keep("scaled", recorded(node, Scale(1.0 + node.id)))
        keep("start", node.initial())
        yield node.sleep(1.0)

    alone, stacked = twice(program)
    assert_equal_values(alone, stacked)
    assert GROUPS == [4, 2]
    assert not stacked.backend.one_by_one
    assert torch.equal(stacked.values[2, "scaled"], 3 * stacked.values[2, "start"])


def test_a_type_without_a_kernel_runs_one_by_one_and_the_run_says_so(twice, assert_equal_values):
    def program(node, keep):
        keep("half", recorded(node, Halve()))
        yield node.sleep(1.0)

    alone, stacked = twice(program)
    assert_equal_values(alone, stacked)
    ((what, why),) = stacked.simulation.finish(None)["engine"]["one_by_one"].items()
    assert what.startswith("jobs of the kind Halve with the model ")
    assert why == "there is no stacked kernel for them"


def test_a_kernel_declines_a_job_with_its_reason(twice, assert_equal_values):
    def program(node, keep):
        keep("scaled", recorded(node, Scale(float(node.id - 5))))
        yield node.sleep(1.0)

    alone, stacked = twice(program)
    assert_equal_values(alone, stacked)
    assert list(stacked.backend.one_by_one.values()) == ["negative factors are not stacked"]


def test_an_error_is_told_in_the_words_of_the_type(build, play):
    def program(node, keep):
        keep("scaled", recorded(node, Scale(13.0 if node.id == 3 else 1.0)))
        yield node.sleep(1.0)

    for backend in ("sequential", "stacked"):
        with pytest.raises(ComputeError, match=r"node 3 at 0 s: scaling by 13 failed.*thirteen"):
            play(build(), program, backend, LIMITS)


def test_another_backend_offers_kernels_of_its_own_and_hands_on_what_it_declines(monkeypatch):
    monkeypatch.setitem(job_type(Scale).kernels, "other", None)  # taken away afterwards
    ran, handed_on, declined = [], [], {}

    def only_doubles(job, resources):
        return () if job.work.factor == 2.0 else Declined("only factors of 2")

    def run(jobs, width):
        ran.extend(jobs)

    offer_kernel(Scale, "other", GroupKernel(only_doubles, lambda *_: Call(run, 100)))
    routes = None  # of no account to a kernel without a purpose
    other = GroupedExecution(
        *("other", None, routes, lambda jobs: handed_on.extend(jobs) or len(jobs), None, declined),
        *(None, Ways()),
    )
    value = Ref(0, Cell(None, (3,)))
    double, triple, half = (
        Job(work, 0, 0, (value,), (), ()) for work in (Scale(2.0), Scale(3.0), Halve())
    )
    assert other.execute([double, triple, half]) == 3
    assert (ran, handed_on) == ([double], [triple, half])
    assert declined == {
        "jobs of the kind Scale": "only factors of 2",
        "jobs of the kind Halve": "there is no other kernel for them",
    }


def test_every_file_of_the_folder_registers_the_type_that_it_is_named_after():
    for info in pkgutil.iter_modules(job_types.__path__):
        module = importlib.import_module(f"{job_types.__name__}.{info.name}")
        name = info.name.title().replace("_", "")
        kernels = job_type(getattr(module, name)).kernels
        assert ("stacked" in kernels) != (info.name in NODE_AFTER_NODE), info.name


def test_functions_that_are_not_marked_are_no_defect_of_the_run(build, play):
    """They run one by one by choice, which the summary does not list."""

    def program(node, keep):
        keep("doubled", node.compute(doubled, node.initial(), like=node.initial()))
        yield node.sleep(1.0)

    run = play(build(), program, "stacked", LIMITS)
    assert not run.backend.one_by_one
    assert "stacked" in job_type(Apply).kernels


def doubled(theta):
    return 2 * theta
