"""Order and places of a program's operations: what leads nowhere is left out, the rest is chained.

Functions of each of many values that follow each other run chunk by chunk, so that what lies
between them stays in the processor's first cache, and takes no memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from netsim.backends.native.loss_operation import Base, Kind, Memory, Operand, Operation
from netsim.backends.native.packing import round_up

CHUNK = 512
"""Values of an operation at a time, as in `src/loss_program.h`."""

_LIGHT = {Kind.MAP, Kind.REDUCE, Kind.ROWS, Kind.MULTIPLY, Kind.LABELS, Kind.TARGETS, Kind.CHECK}
"""Operations that may go before a chain on which they do not depend."""

Groups = list[list[Operation]]


def needed_operations(operations: Sequence[Operation], wanted: set[Memory]) -> list[Operation]:
    """Operations that lead to wanted memories, or have another effect.

    Parameters
    ----------
    operations : sequence of Operation
        In their order.
    wanted : set of Memory
        Whatever is read of these is added.
    """
    found: list[Operation] = []
    for op in reversed(operations):
        if op.written_memory is None or op.stays or op.written_memory in wanted:
            found.append(op)
            wanted.update(x.memory for x in op.inputs)
    found.reverse()
    return found


def group_chains(operations: Sequence[Operation]) -> Groups:
    """Operations in groups, each of which runs as one; an order with the same results."""
    left, groups = list(operations), []
    while left:
        op = left.pop(0)
        chain: list[Operation] = [op]
        before: list[Operation] = []
        rest = left
        if _is_long(op):
            chain, before, rest = _chain(op, left)
        if len(chain) > 1:
            groups += group_chains(before)
            left = rest
        groups.append(chain)
    return groups


def _is_long(op: Operation) -> bool:
    """Return whether it computes many values, one behind the other."""
    return (
        op.kind is Kind.MAP
        and op.dims[:3] == (1, 1, 1)
        and op.dims[3] > CHUNK
        and op.strides[0][3] == 1
        and op.out is not None
        and op.out.memory.base is Base.WORK
    )


def _chain(
    op: Operation, after: Sequence[Operation]
) -> tuple[list[Operation], list[Operation], list[Operation]]:
    """The chain that begins with an operation, what may go before it, and what comes after."""
    assert op.out is not None
    chain = [op]
    before: list[Operation] = []
    written = {op.out.memory: op.out}
    read = {x.memory for x in op.inputs}
    for number, each in enumerate(after):
        memories = {x.memory for x in each.inputs}
        is_apart = each.written_memory not in written and each.written_memory not in read
        if (
            is_apart
            and _is_long(each)
            and each.dims == op.dims
            and _can_extend_chain(each, written)
        ):
            assert each.out is not None
            chain.append(each)
            written[each.out.memory] = each.out
            read |= memories
        elif is_apart and each.kind in _LIGHT and not memories & written.keys():
            before.append(each)
        else:
            return chain, before, list(after[number:])
    return chain, before, []


def _can_extend_chain(op: Operation, written: dict[Memory, Operand]) -> bool:
    """Return whether an operation reads what a chain writes as the chain writes it."""
    return all(
        x.memory not in written or (x.offset == written[x.memory].offset and s[3] == 1)
        for x, s in zip(op.inputs, op.strides[1:], strict=True)
    )


def shrink_to_chunks(groups: Groups, others: Sequence[Operation], kept: set[Memory]) -> None:
    """Shrink memories that only one chain writes and reads to the size of a chunk.

    Parameters
    ----------
    groups : list of lists of Operation
    others : sequence of Operation
        That run after them.
    kept : set of Memory
        What is read or written from outside.
    """
    everything = [*(op for group in groups for op in group), *others]
    writers = Counter(op.written_memory for op in everything)
    readers = Counter(x.memory for op in everything for x in op.inputs)
    for group in groups:
        if len(group) == 1:
            continue
        here = Counter(x.memory for op in group for x in op.inputs)
        own = {
            op.out.memory
            for op in group
            if op.out is not None and op.out.offset == 0 and op.out.memory.size == op.dims[3]
        }
        own = {m for m in own - kept if writers[m] == 1 and readers[m] == here[m]}
        for op in group:
            assert op.out is not None
            op.strides = tuple(
                (0, 0, 1, s[3]) if x.memory in own else s
                for x, s in zip((op.out, *op.inputs), op.strides, strict=True)
            )
        for memory in own:
            memory.size = CHUNK


def place_memories(groups: Groups, kept: Sequence[Memory], vector: int) -> int:
    """Place memories in the workspace; room that nobody reads any more is taken again.

    Parameters
    ----------
    groups : list of lists of Operation
    kept : sequence of Memory
        Placed first, and for the whole program.
    vector : int
        Scalars of a vector.

    Returns
    -------
    int
        Scalars that the workspace has.
    """

    def room(memory: Memory) -> int:
        return round_up(memory.size + vector, 16)  # whole vectors are read behind the last value

    first: dict[Memory, int] = {}
    last: dict[Memory, int] = {}
    for number, group in enumerate(groups):
        for op in group:
            found = [x.memory for x in op.inputs]
            found += [m for m in (op.written_memory, op.scratch) if m is not None]
            for memory in found:
                if memory.base is Base.WORK:
                    first.setdefault(memory, number)
                    last[memory] = number
    free: list[tuple[int, int]] = []  # (size, at)
    size = 0
    for memory in kept:
        if memory.base is Base.WORK:
            memory.at, size = size, size + room(memory)
    begins: dict[int, list[Memory]] = {}
    ends: dict[int, list[Memory]] = {}
    for memory, number in first.items():
        if memory not in kept:
            begins.setdefault(number, []).append(memory)
            ends.setdefault(last[memory], []).append(memory)
    for number in range(len(groups)):
        for memory in begins.get(number, ()):
            wanted = room(memory)
            fits = min((f for f in free if f[0] >= wanted), default=None)
            if fits is None or fits[0] > 2 * wanted:
                memory.at, size = size, size + wanted
                continue
            free.remove(fits)
            memory.at = fits[1]
            if fits[0] > wanted:
                free.append((fits[0] - wanted, fits[1] + wanted))
        free += [(room(memory), memory.at) for memory in ends.get(number, ())]
    return size
