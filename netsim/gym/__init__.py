"""Environments for learning agents: a scenario plays, and an agent takes a method's decisions.

`make` gives a Gymnasium environment, `aec` one of PettingZoo for several agents. A step plays on to
the next decision, an episode lasts to the scenario's horizon. `pip install netsim-dfl[gym]`.
"""

from netsim.errors import ScenarioError

try:
    import gymnasium
    import pettingzoo
except ImportError as error:
    raise ScenarioError(
        f"netsim.gym: the package {error.name} is missing; pip install 'netsim-dfl[gym]'"
    ) from error

from netsim.gym.environment import Environment, make
from netsim.gym.several import SeveralAgents, aec

__all__ = ["Environment", "SeveralAgents", "aec", "gymnasium", "make", "pettingzoo"]
