"""The names of `netsim/__init__.py`, which are imported on first use, for type checkers."""

from netsim import api as api
from netsim import engine as engine
from netsim import errors as errors
from netsim import gym as gym
from netsim import scenario as scenario
from netsim import world as world
from netsim.errors import FolderBusyError as FolderBusyError
from netsim.errors import NetsimError as NetsimError
from netsim.errors import RunWarning as RunWarning
from netsim.errors import ScenarioError as ScenarioError
from netsim.python_api import figures as figures
from netsim.python_api import runs as _runs
from netsim.python_api.costs import model_costs as model_costs
from netsim.python_api.playing import resume as resume
from netsim.python_api.playing import run as run
from netsim.python_api.playing import sweep as sweep
from netsim.python_api.runs import Run as Run
from netsim.python_api.runs import Sweep as Sweep
from netsim.python_api.scenario import Scenario as Scenario
from netsim.python_api.scenario import load as load
from netsim.python_api.scenario import scenarios as scenarios
from netsim.recording.observers import EvaluationEvent as EvaluationEvent
from netsim.recording.observers import MessageEvent as MessageEvent
from netsim.recording.observers import WakeupEvent as WakeupEvent
from netsim.recording.summary_fields import MEASURES as MEASURES
from netsim.views.gathering.comparison import Spread as Spread
from netsim.views.gathering.comparison import paired as paired
from netsim.views.gathering.comparison import spread as spread
from netsim.views.gathering.frames import Comparison as Comparison

open = _runs.open_folder
