"""The command `netsim`, also as `python -m netsim`."""

import signal

from netsim import garbage


def main() -> None:
    """Run the command line and exit; Ctrl-C ends it without a traceback while it still loads."""
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    garbage.set_for_own_process()
    from netsim.console import app

    if is_usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    app.main()


if __name__ == "__main__":  # worker processes of a sweep import this file again
    main()
