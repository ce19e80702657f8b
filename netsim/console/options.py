"""Arguments and options that several commands have."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A file, or a shipped scenario's name.")
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="A.B=V", help="Change one key; may be repeated."),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Replaces the scenario's seed.")]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder of the results \\[runs/NAME].")
]
ForceNew = Annotated[
    bool,
    typer.Option(
        "--force-new", help="With --out: move what DIR holds to DIR.1, DIR.2, ..., and begin anew."
    ),
]
Device = Annotated[
    str | None, typer.Option(metavar="DEVICE", help="Where to compute: auto, cpu, cuda, or cuda:1.")
]
Components = Annotated[
    list[Path] | None,
    typer.Option(
        "--components",
        "--algorithms",
        metavar="DIR",
        help="A folder of your own algorithms, models, channels, ...; may be repeated.",
    ),
]
DataDir = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="The data sets' folder [$NETSIM_DATA].")
]
TimingOnly = Annotated[
    bool, typer.Option("--timing-only", help="Play the network without learning.")
]
Target = Annotated[
    float | None,
    typer.Option(metavar="VALUE", help="When did the main metric (accuracy) first reach this?"),
]
Against = Annotated[
    str | None,
    typer.Option(metavar="ALGORITHM", help="Lead over this one, at as many local steps."),
]
Show = Annotated[
    str | None,
    typer.Option(metavar="NAME,NAME", help="Numbers to show: accuracy,delay_s,energy_j, ..."),
]
Engine = Literal["local", "ray"]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        "--ray-address",
        metavar="ADDRESS",
        help="Of the Ray cluster \\[$RAY_ADDRESS, or one on this machine].",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no tables.")]
Figures = Annotated[bool, typer.Option(help="Draw pictures into figures/ of the run folder.")]
Report = Annotated[bool, typer.Option(help="Write report.html, a page of what happened.")]
Watch = Annotated[
    bool, typer.Option("--watch", help="Write report.html anew every few seconds meanwhile.")
]
Log = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PROGRAM",
        help="Numbers for a dashboard: tensorboard, wandb (offline), wandb-online; repeatable.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.")]


def assignments(
    seed: int | None = None,
    device: str | None = None,
    data: Path | None = None,
    engine: str | None = None,
    actors: int | None = None,
) -> list[str]:
    """The options that stand for a `--set`.

    Parameters
    ----------
    seed, device, data, engine, actors
        As given, or None.
    """
    values = {
        "seed": seed,
        "run.device": device,
        "run.engine": None if engine is None else json.dumps(engine),
        "run.actors": actors,
        "data.path": None if data is None else json.dumps(str(data.absolute())),
    }
    return [f"{key}={value}" for key, value in values.items() if value is not None]
