"""Peers that a method goes without for good before it has ever heard of them."""

from types import SimpleNamespace

import pytest

from algorithms import dpfl
from netsim.messaging.message import Received
from netsim.protocols.collaborators import CollaboratorParams, Collaborators


def a_node(**more):
    said = []
    return SimpleNamespace(
        id=0,
        neighbours=(1, 2, 3),
        said=said,
        warn=lambda subject, text: said.append((subject, text)),
        log_weights=lambda *_, **__: None,
        send=lambda *_: None,
        **more,
    )


def heard(j):
    return Received(None, j, 5.0, 0.0, 1)


@pytest.mark.parametrize(
    ("of", "ranking", "told"),
    [
        ((1, 2), [0.9, 0.5, 0.1], "1 of 3 peers"),  # 2 and 3 go, 3 was never heard
        ((1, 2), [0.1, 0.2, 0.9], None),  # 3 stays: it may yet be heard
        ((1, 2, 3), [0.9, 0.5, 0.1], None),
        ((), [0.9, 0.5, 0.1], "2 of 3 peers"),
    ],
)
def test_whoever_drops_a_peer_for_good_that_was_never_heard_says_so(of, ranking, told):
    node = a_node()
    collaborators = Collaborators(node, object, CollaboratorParams(kept_peers=1))
    for j in of:
        collaborators._note(heard(j))
    collaborators.shrink(ranking)
    assert [subject for subject, _ in node.said] == ["candidates lost"] * (told is not None)
    assert told is None or told in node.said[0][1]


@pytest.mark.parametrize(
    ("limit", "omega", "p", "latecomers", "told"),
    [
        (2, [1], {0: 9, 1: 9}, "join", "2 of 3 neighbours"),
        (2, [1], {0: 9, 1: 9, 2: 9, 3: 9}, "join", None),  # all could be had
        (None, [1], {0: 9, 1: 9}, "out", "2 of 3 neighbours"),
        (1, [], {0: 9}, "join", None),  # a budget of nobody asks nobody
    ],
)
def test_dpfl_says_whom_it_goes_without(limit, omega, p, latecomers, told):
    node, params = a_node(), SimpleNamespace(latecomers=latecomers, candidates="peers")
    going = dpfl.with_latecomers(node, params, limit, None, p, omega)
    with pytest.raises(StopIteration) as found:
        next(going)
    assert found.value.value == omega
    assert [subject for subject, _ in node.said] == ["candidates lost"] * (told is not None)
    assert told is None or told in node.said[0][1]
    assert not node.said or ("budget is full" in node.said[0][1]) == (latecomers == "join")
