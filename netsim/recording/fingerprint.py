"""The fingerprint of a table of events, independent of where the table was cut into parts."""

import hashlib
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from netsim.recording.parquet_parts import Column, Rows

_SNR_DECIMALS = 6  # in the fingerprint: machines' log10 may differ in the last bit


class Fingerprint:
    """SHA-256 over rows in order.

    Each column has a hash of its own, and their digests are hashed at the end, so that the result
    does not depend on the cut into parts.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._hashes = {column.name: hashlib.sha256() for column in columns}

    def add(self, rows: Rows) -> None:
        """Feed the next rows, as `Parts.take` gives them."""
        for name, column_hash in self._hashes.items():
            cells = rows[name]
            if cells.dtype == np.float64:
                # one bit pattern for NaN, and no negative zero
                cells = np.where(np.isnan(cells), np.nan, cells.round(_SNR_DECIMALS)) + 0.0
                column_hash.update(cells.astype("<f8", copy=False).data)
            else:
                column_hash.update(cells.astype("<i8").data)

    def digest(self, words: Mapping[str, Collection[str]]) -> bytes:
        """Hash of everything fed so far.

        `words`: the strings that the codes of word columns stand for.
        """
        total = hashlib.sha256()
        for name, column_hash in self._hashes.items():
            total.update(column_hash.digest())
            total.update("\0".join(words.get(name, ())).encode())
        return total.digest()
