"""Runs for other programs: file formats, dashboards (`trackers`), timelines, replays in ns-3."""
