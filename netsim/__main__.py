"""`python -m netsim` is the command `netsim`."""

from netsim.console.app import main

if __name__ == "__main__":  # worker processes of a sweep import this file again
    main()
