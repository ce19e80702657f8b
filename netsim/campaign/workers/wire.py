"""Jobs and what workers report of them, as lines of JSON between two processes."""

import json
from pathlib import Path
from typing import Any

from netsim.campaign.grid import Job, Outcome, Point
from netsim.scenario.draft import Draft


def job_text(job: Job) -> str:
    """A job as one line."""
    draft = job.draft
    return json.dumps(
        {
            "label": job.point.label,
            "values": job.point.values,
            "seed": job.seed,
            "path": draft.path,
            "raw": draft.raw,
            "said_by": [[list(path), label] for path, label in draft.said_by.items()],
            "folder": str(job.folder),
            "components": [str(folder) for folder in job.components],
            "timing_only": job.timing_only,
            "names": list(job.names),
            "reports": job.reports,
        },
        default=str,  # as scenarios are read: a date is a text
    )


def read_job(text: str) -> Job:
    """The job that `job_text` wrote."""
    found = json.loads(text)
    said_by = {tuple(path): label for path, label in found["said_by"]}
    return Job(
        Point(found["label"], found["values"]),
        found["seed"],
        Draft(found["path"], found["raw"], said_by),
        Path(found["folder"]),
        tuple(Path(folder) for folder in found["components"]),
        found["timing_only"],
        tuple(found["names"]),
        found["reports"],
    )


def outcome_fields(outcome: Outcome) -> dict[str, Any]:
    """Return the fields of a job's outcome, without the job itself."""
    fields = {**vars(outcome)}
    del fields["job"]
    return fields


def read_outcome(job: Job, fields: dict[str, Any]) -> Outcome:
    """The outcome whose fields `outcome_fields` gave."""
    return Outcome(job, **{**fields, "tries": tuple(fields["tries"])})
