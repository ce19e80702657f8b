"""Flower apps from Python: `netsim.flower.run(server_app, client_app, scenario)`.

It needs flwr: `pip install 'netsim-dfl[flower]'`. From the command line a scenario names
`[algorithm] kind = "flower"`, and `--components FOLDER` gives the app's folder.
"""

from netsim.flower.running import resume, run

__all__ = ["resume", "run"]
