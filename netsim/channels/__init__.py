"""Links: path loss, fading, rate, packet error, retransmission; one family a folder."""
