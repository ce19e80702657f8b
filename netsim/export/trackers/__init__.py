"""Numbers of a run for other programs' dashboards, written while it goes on: `netsim run --log`.

`scalars` makes numbers of what observers are told, `from_folder` reads them of a run that is over;
`to_tensorboard` and `to_wandb` each write them for one program, into a folder of its name in the
run's. To add a program, add a module with a `Writer` (see `tracker`) and name it in
`tracker.PROGRAMS`.
"""
