"""Message sizes of secure aggregation: a model of sizes, not of cryptography.

Source: Bonawitz et al. 2017, "Practical Secure Aggregation for Privacy-Preserving Machine
Learning" (CCS), Section 7: a user of n, with m values in [0, R_U), sends and receives

    2 n a_K + (5 n - 4) a_S + m ceil(log2 R)  bits,   R = n (R_U - 1) + 1

a_K bits a public key, a_S bits a secret share (both 256). Of these it sends its own two keys,
2 (n - 1) encrypted shares, n shares to unmask and the masked values; it receives 2 (n - 1) keys and
2 (n - 1) encrypted shares. Here a user's sending is one message and its receiving is part of the
server's answer: no messages for the four rounds of the protocol, nobody drops out between them, and
values reach the server as they are. Only their sum may be used.
"""

from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded

KEY_BITS = 256
SHARE_BITS = 256


def masked(value: Ref, users: int, bits_per_value: int = 16) -> Encoded:
    """Encode a user's masked values, keys and shares.

    Parameters
    ----------
    value : Ref
        m values, which the caller has rounded to `bits_per_value` if that is to show.
    users : int
        n, how many users' values are summed.
    bits_per_value : int
        log2 R_U.

    Returns
    -------
    Encoded
        A field of a message.
    """
    largest_sum = users * (2**bits_per_value - 1)
    values = value.num_values * largest_sum.bit_length()
    return Encoded(value, values + 2 * KEY_BITS + (3 * users - 2) * SHARE_BITS)


def answered(value: Ref, users: int) -> Encoded:
    """Encode the server's answer: a value in the clear, and the messages for the user on the way.

    Parameters
    ----------
    value : Ref
        The new model, for example.
    users : int
        n, how many users' values were summed.

    Returns
    -------
    Encoded
        A field of a message.
    """
    return Encoded(value, 2 * (users - 1) * (KEY_BITS + SHARE_BITS), reals=value.num_values)
