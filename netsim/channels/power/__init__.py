"""One rule of transmit power a file; the file's name is its `kind` in a scenario."""

from abc import abstractmethod
from typing import ClassVar

from netsim.registry import Component


class Power(Component):
    """The power with which a sender sends a message: base of the rules.

    It is set where a message begins, from the mean loss to its receiver, fading left aside (open
    loop), and kept to its end. A broadcast takes the largest of what its receivers need.
    """

    controlled: ClassVar[bool] = True
    """True if it may differ from the node's full transmit power."""

    @abstractmethod
    def dbm(self, loss_db: float, most_dbm: float, noise_dbm: float) -> float:
        """Transmit power for a link.

        Parameters
        ----------
        loss_db : float
            Path loss and shadowing, without fading [dB].
        most_dbm : float
            The node's full transmit power [dBm].
        noise_dbm : float
            Noise over the bandwidth at the receiver [dBm].

        Returns
        -------
        float
            At most `most_dbm` [dBm].
        """
