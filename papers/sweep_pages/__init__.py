"""Play the sweeps of pages, and write these pages."""
