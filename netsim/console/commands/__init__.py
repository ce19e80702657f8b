"""Commands of `netsim`, one a file: `command` has the options, calls what does the work, prints.

A command is called as its file; `ALSO_CALLED` are words by which people ask for it. Modules that
take long to load are imported in the functions: `netsim --help` imports every file of this folder.
"""
