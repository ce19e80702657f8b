"""Tables of the papers: printed figures, numbers of runs, pages, and what plays and writes them."""
