"""Declarations of an algorithm and its losses, and errors for misspelt ones."""

from types import SimpleNamespace

import pytest

from netsim import api
from netsim.errors import ProtocolError, ScenarioError
from netsim.learning.functions import require_module_level, uniforms_of
from netsim.protocols.declaration import Declaration, declaration_of
from netsim.scenario.kinds import kinds_of

MODULE = '''"""An algorithm of the user's own."""
from netsim import api

class Params(api.Params):
    pass

{above}
def processes(node, params):
    return []
{below}
'''


def processes(node, params):
    return []


@pytest.fixture
def problems(tmp_path):
    """List the faults of an algorithm file."""

    def refused(above="", below=""):
        (tmp_path / "mine.py").write_text(MODULE.format(above=above, below=below))
        with pytest.raises(ScenarioError) as error:
            kinds_of((tmp_path,))
        return str(error.value)

    return refused


def test_what_is_declared_is_found():
    declare = api.algorithm(schedules=["rounds"], knows_servers=False, needs_values=True)
    assert declaration_of(SimpleNamespace(processes=declare(processes))) == Declaration(
        schedules=("rounds",), knows_servers=False, needs_values=True
    )


def test_without_a_declaration_everything_is_allowed():
    def undeclared(node, params):
        return []

    assert declaration_of(SimpleNamespace(processes=undeclared)) == Declaration(
        schedules=None, knows_servers=True, needs_values=False
    )


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"schedule": ("rounds",)}, 'schedule: must be one of .*; did you mean "schedules"?'),
        ({"need_values": True}, 'did you mean "needs_values"?'),
        ({"knows_server": False}, 'did you mean "knows_servers"?'),
        ({"schedules": ("rouns",)}, r'schedules = "rouns": .*; did you mean "rounds"\?'),
        ({"schedules": ("pigeon",)}, "must be one of periodic, poisson, rounds, star"),
        ({"schedules": "star"}, r'must be a tuple: \("star",\)'),
        ({"knows_servers": "no"}, "knows_servers must be True or False, not 'no'"),
    ],
)
def test_what_is_misspelt_is_said(keywords, said):
    with pytest.raises(ProtocolError, match=said):
        api.algorithm(**keywords)


def test_a_declaration_belongs_above_processes():
    with pytest.raises(ProtocolError, match="above the function `processes`"):
        api.algorithm(knows_servers=False)(Declaration)


def test_a_misspelt_declaration_in_a_file_is_said_with_its_line(problems):
    said = problems(above='@api.algorithm(schedules=("sar",))')
    assert "mine.py: cannot be imported: ProtocolError: @algorithm" in said
    assert 'did you mean "star"?' in said
    assert "mine.py:7" in said


@pytest.mark.parametrize(
    ("constant", "instead"),
    [
        ('SCHEDULES = ("rounds",)', "@netsim.api.algorithm(schedules=('rounds',)) above processes"),
        ("KNOWS_SERVERS = False", "@netsim.api.algorithm(knows_servers=False) above processes"),
        ("NEEDS_VALUES = True", "@netsim.api.algorithm(needs_values=True) above processes"),
    ],
)
def test_constants_that_nobody_reads_are_refused(problems, constant, instead):
    said = problems(below=constant)
    assert f"{constant.split()[0]} is not read: write {instead}" in said


def test_draws_stated_by_hand_are_refused_when_the_file_is_read(problems):
    said = problems(below="def noisy(model, batch, learned):\n    pass\n\nnoisy.uniforms = 4")
    assert "noisy.uniforms is not read: write @netsim.api.loss(uniforms=4) above it" in said


def by_hand(model, batch, learned):
    return model(batch.x).sum()


by_hand.uniforms = 4


def test_draws_stated_by_hand_are_refused_when_a_node_trains():
    with pytest.raises(ProtocolError, match=r"by_hand\.uniforms is not read: write .*uniforms=4"):
        require_module_level(by_hand)


def test_draws_of_a_loss():
    def noisy(model, batch, learned):
        return model(batch.x).sum()

    assert uniforms_of(None) == uniforms_of(noisy) == 0
    assert uniforms_of(api.loss(uniforms=4)(noisy)) == 4


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"uniform": 4}, 'uniform: must be uniforms; did you mean "uniforms"?'),
        ({"uniforms": -1}, "uniforms = -1: must be a whole number"),
        ({"uniforms": 1.5}, "uniforms = 1.5: must be a whole number"),
        ({"uniforms": True}, "uniforms = True: must be a whole number"),
    ],
)
def test_what_is_misspelt_above_a_loss_is_said(keywords, said):
    with pytest.raises(ProtocolError, match=said):
        api.loss(**keywords)
