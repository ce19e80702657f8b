"""A page on which one sees what happened in a run or a sweep: one HTML file, without any network.

`run_tables` reads a run folder, whether its run has ended or not; each module of `panels` makes of
it what one panel of the page shows, as small arrays; `run_page` and `sweep_page` put them together;
`html` writes them with the files of `assets` into one file. To add a panel, add a module to
`panels`, name it in `panels.PANELS`, and draw it in `assets/panels/NAME.js`.
"""
