"""The papers' tables: printed figures, the numbers of runs, pages, and what plays and writes them."""
