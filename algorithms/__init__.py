"""One learning method a file; netsim finds them by file name."""
