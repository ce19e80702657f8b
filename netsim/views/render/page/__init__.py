"""A page on which one sees what happened in a run or a sweep: one HTML file, without any network.

`run_page` and `sweep_page` ask every view for what it shows; `marks` makes JSON of it; `html`
writes it with the files of `assets` into one file, where `assets/marks/` draws each mark.
"""
