"""Commands of `netsim`, one a file: `command` has the options, calls what does the work, prints.

A command is called as its file; `ALSO_CALLED` are words by which people ask for it. `console.app`
adds `--debug` and turns errors into messages, before which `FAILURE` stands where the input is not
to blame. Modules that take long to load are imported in the functions: `netsim --help` imports
every file of this folder.
"""
