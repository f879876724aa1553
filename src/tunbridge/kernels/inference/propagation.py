"""Kernels that run the program of a junction tree: exact propagation, most probable states, conditioning.

A clique never holds a table of its own. Its *inputs* are the potentials assigned to it, the messages of its children
and, on the way down, the message of its parent:

    up         message(c → parent) = Σ_residual Π inputs of c but the parent's
    down       message(c → child)  = Σ_rest Π all inputs of c  /  message(child → c)
    marginal   P(x_v, evidence)    = Σ_rest Π all inputs of the clique that eliminates v

(Jensen, Lauritzen and Olesen 1990). The inputs are multiplied in an order, fixed when the program is compiled, in which
the scope of the running product grows slowly, and the last factor is multiplied and summed in one go (``_contract``),
so the table of a whole clique is rarely written out.

All tables have their axes in the order of elimination, first eliminated outermost, so that the separator to the parent
is the inner, contiguous part of every clique, and the *lanes* (rows of a batch) are the innermost axis of all. A
variable observed in every lane has an axis of length one: evidence makes all tables smaller. Other evidence (soft, or
in some lanes only) is multiplied into one potential of the variable while that is copied.

The records have few arrays, integers as rows of a table with named columns: numba counts references for every array of
a tuple at every call (20 arrays: 240 ns, 5 arrays: 55 ns), and Python takes 0.3 µs to pass each. For the same reasons
helpers are inlined, and the kernels that Python calls get the fields of ``Program`` and ``Evidence`` one by one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

# Columns of Program.variables: number of states, the clique that eliminates the variable, the potential that takes up
# its soft evidence, and where its states begin in an array over all states. (A Python int would be a type of its own to
# numba, and every function that gets one would be compiled once for each.)
N_STATES, HOME, OWN, STATES = np.int64(0), np.int64(1), np.int64(2), np.int64(3)

# Columns of Program.potentials: where scope (in members) and table begin. The last row holds the ends.
SCOPE, TABLE = np.int64(0), np.int64(1)

# Columns of Program.cliques: where its variables (in members) begin; how many of them, the residual, are eliminated in
# it (the others are the separator); the parent, or −1; where its message begins; whether the marginals of the residual
# are read from its joint table; where its inputs begin. The last row holds the ends.
MEMBERS, N_RESIDUAL, PARENT, MESSAGE, JOINTLY, INPUTS = (
    np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(4), np.int64(5)
)  # fmt: skip

# Columns of Program.inputs: a potential, n_potentials + a child, or n_potentials + n_cliques, the parent; where its
# axes (in members) begin; and, counted within the clique, the input that is multiplied at this place on the way up, and
# on the way down, and the input whose separator holds that of this child too (−1: the clique itself).
SOURCE, AXES, UP, DOWN, VIA = np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(4)

# The first two entries of the buffer: a table without axes, and the least positive entry of the potentials.
UNIT, LEAST = np.int64(0), np.int64(1)

ASSIGN, ADD, MAXIMISE = np.int64(0), np.int64(1), np.int64(2)

_SMALL_PRODUCT = 4096  # entries: to look for small ones among them after every factor costs nothing
_SMALL = 1e-120
_SMALLEST = 1e-300


class Program(NamedTuple):
    """A compiled junction tree, cliques in the order of elimination: children before parents.

    Parameters
    ----------
    variables, potentials, cliques, inputs : int64 arrays, one row each, with the columns above
        The parts of the tree.
    members : int64 array
        Scopes of potentials in the order of elimination, variables of cliques, and axes of inputs.
    sizes : int64 array
        Entries of: potentials, messages, copied potentials, scratch, product, other product, marginals.
    """

    variables: np.ndarray
    potentials: np.ndarray
    cliques: np.ndarray
    inputs: np.ndarray
    members: np.ndarray
    sizes: np.ndarray


class Evidence(NamedTuple):
    """Evidence of several lanes.

    Parameters
    ----------
    codes : int64 array of shape (n_variables, lanes)
        The observed state, −1 where there is none.
    likelihoods : float64 array of shape (n_states of all variables, lanes)
        Read for the variables that ``is_soft`` marks; space to write for those observed in some lanes only.
    is_soft : int64 array of shape (n_variables,)
        Whether a variable has likelihoods.
    """

    codes: np.ndarray
    likelihoods: np.ndarray
    is_soft: np.ndarray


class Layout(NamedTuple):
    """Where the parts of the buffer begin, which holds all doubles that a run reads and writes.

    All but the potentials have room for every lane. Behind ``end`` there may be room for a joint table.
    """

    potentials: int
    log_evidence: int
    marginals: int
    up: int
    down: int
    copies: int
    scratch: int
    product: int
    other_product: int
    end: int


class _Workspace(NamedTuple):
    """The arrays of a run.

    Parameters
    ----------
    x : float64 array
        The buffer.
    extents : int64 array
        The length of each variable's axis: 1 where it is observed in every lane.
    touched : int64 array
        Whether evidence changes a potential, so that it is copied.
    lengths : int64 array
        The lengths of the present clique's axes, the lanes last.
    places, axes : int64 arrays of shapes (n_inputs,) and (n_inputs, n_axes)
        Where the inputs of the present clique lie in the buffer, and which of its axes each has.
    flags, work : int64 arrays of shapes (3, n_axes) and (5, n_axes)
        Which axes the product, the last factor and the result have; space for counters.
    """

    x: np.ndarray
    extents: np.ndarray
    touched: np.ndarray
    lengths: np.ndarray
    places: np.ndarray
    axes: np.ndarray
    flags: np.ndarray
    work: np.ndarray


@njit(cache=True, nogil=True)
def layout(sizes, lanes):
    """Return the layout of the buffer for the sizes of a program."""
    log_evidence = 2 + sizes[0]
    marginals = log_evidence + lanes
    up = marginals + sizes[6] * lanes
    down = up + sizes[1] * lanes
    copies = down + sizes[1] * lanes
    scratch = copies + sizes[2] * lanes
    product = scratch + sizes[3] * lanes
    other_product = product + sizes[4] * lanes
    end = other_product + sizes[5] * lanes
    return Layout(np.int64(2), log_evidence, marginals, up, down, copies, scratch, product, other_product, end)


@njit(cache=True, nogil=True)
def load_potentials(variables, starts, members, scope_start, scope_vars, tables, x):
    """Write the first two entries and the potentials into the buffer, their axes in the order of elimination."""
    n_potentials = starts.shape[0] - 1
    n_axes = 1
    for f in range(n_potentials):
        n_axes = max(n_axes, scope_start[f + 1] - scope_start[f])
    extents, strides, at = np.empty(n_axes, np.int64), np.empty(n_axes, np.int64), np.empty(n_axes, np.int64)
    stride_of = np.empty(variables.shape[0], np.int64)
    x[UNIT], least = 1.0, np.inf
    for f in range(n_potentials):
        low, k = scope_start[f], scope_start[f + 1] - scope_start[f]
        stride = 1
        for i in range(k - 1, -1, -1):
            stride_of[scope_vars[low + i]] = stride
            stride *= variables[scope_vars[low + i], N_STATES]
        for i in range(k):
            v = members[starts[f, SCOPE] + i]
            extents[i], strides[i], at[i] = variables[v, N_STATES], stride_of[v], 0
        read = starts[f, TABLE]
        for write in range(2 + starts[f, TABLE], 2 + starts[f + 1, TABLE]):
            x[write] = tables[read]
            if 0.0 < tables[read] < least:
                least = tables[read]
            for i in range(k - 1, -1, -1):
                at[i] += 1
                read += strides[i]
                if at[i] < extents[i]:
                    break
                read -= at[i] * strides[i]
                at[i] = 0
    x[LEAST] = least


# Products of two tables


def _make_sums(length):
    """Return the innermost loops for runs of a fixed length, which are unrolled, or (0) of any.

    Offsets are unsigned: a negative index would count from the end, and the test for it keeps loops from being vectors.
    """

    @njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
    def combine(op, case, x, a, b, o, n, m, a1, b1, o1):
        a, b, o = np.uint64(a), np.uint64(b), np.uint64(o)
        a1, b1, o1 = np.uint64(a1), np.uint64(b1), np.uint64(o1)
        n = np.uint64(length) if length else np.uint64(n)
        if case == 0 and op == ASSIGN:
            for _ in range(m):
                for i in range(n):
                    x[o + i] = x[a + i] * x[b + i]
                a, b, o = a + a1, b + b1, o + o1
        elif case == 0 and op == ADD:
            for _ in range(m):
                for i in range(n):
                    x[o + i] += x[a + i] * x[b + i]
                a, b, o = a + a1, b + b1, o + o1
        elif case == 1 and op == ASSIGN:
            for _ in range(m):
                factor = x[b]
                for i in range(n):
                    x[o + i] = x[a + i] * factor
                a, b, o = a + a1, b + b1, o + o1
        elif case == 1 and op == ADD:
            for _ in range(m):
                factor = x[b]
                for i in range(n):
                    x[o + i] += x[a + i] * factor
                a, b, o = a + a1, b + b1, o + o1
        elif case == 3 and op == ADD:
            for _ in range(m):
                found = 0.0
                for i in range(n):
                    found += x[a + i] * x[b + i]
                x[o] += found
                a, b, o = a + a1, b + b1, o + o1
        elif case == 4 and op == ADD:
            for _ in range(m):
                found = 0.0
                for i in range(n):
                    found += x[a + i]
                x[o] += found * x[b]
                a, b, o = a + a1, b + b1, o + o1

    return combine


_sums, _sums_2, _sums_3, _sums_4 = _make_sums(0), _make_sums(2), _make_sums(3), _make_sums(4)


@njit(cache=True, nogil=True)
def _rare(op, case, x, a, b, o, n, m, a1, b1, o1):
    """The innermost loops for maxima, and for runs that only the result has."""
    step_a, step_b = 1 * (case != 2), 1 * (case == 0 or case == 3)
    for _ in range(m):
        if case >= 3:
            found = 0.0
            for i in range(n):
                found = max(found, x[a + i] * x[b + i * step_b])
            x[o] = max(x[o], found)
        elif op == MAXIMISE:
            for i in range(n):
                x[o + i] = max(x[o + i], x[a + i * step_a] * x[b + i * step_b])
        elif op == ADD:
            for i in range(n):
                x[o + i] += x[a] * x[b]
        else:
            for i in range(n):
                x[o + i] = x[a] * x[b]
        a, b, o = a + a1, b + b1, o + o1


@njit(cache=True, nogil=True)
def _combine(op, case, x, a, b, o, n, m, a1, b1, o1):
    """Combine runs of n entries, m times; ∘ is the operation on the present entry and the product.

    Case 0: o[i] ∘ a[i] b[i], 1: o[i] ∘ a[i] b, 2: o[i] ∘ a b, 3: o ∘ Σ a[i] b[i], 4: o ∘ b Σ a[i].
    """
    if op == MAXIMISE or case == 2:
        _rare(op, case, x, a, b, o, n, m, a1, b1, o1)
    elif n == 2:
        _sums_2(op, case, x, a, b, o, n, m, a1, b1, o1)
    elif n == 3:
        _sums_3(op, case, x, a, b, o, n, m, a1, b1, o1)
    elif n == 4:
        _sums_4(op, case, x, a, b, o, n, m, a1, b1, o1)
    else:
        _sums(op, case, x, a, b, o, n, m, a1, b1, o1)


@njit(cache=True, nogil=True)
def _contract(op, n_axes, extents, x, a, in_a, b, in_b, o, in_o, work):
    """Fill table o with the product of tables a and b, summed (or maximised) over the axes that o lacks.

    The tables are compact and have their axes in the same order, so neighbouring axes with equal membership are one.
    Returns the number of entries of o.
    """
    count, stride_a, stride_b, stride_o, at = work[0], work[1], work[2], work[3], work[4]
    k, size_a, size_b, size_o, reduces = 0, 1, 1, 1, False
    flags = -1
    for j in range(n_axes - 1, -1, -1):
        e = extents[j]
        here = in_a[j] + 2 * in_b[j] + 4 * in_o[j]
        if e == 1 or here == 0:
            continue
        reduces = reduces or here < 4
        if here == flags:
            count[k - 1] *= e
        else:
            count[k] = e
            stride_a[k] = size_a if in_a[j] else 0
            stride_b[k] = size_b if in_b[j] else 0
            stride_o[k] = size_o if in_o[j] else 0
            k += 1
            flags = here
        if in_a[j]:
            size_a *= e
        if in_b[j]:
            size_b *= e
        if in_o[j]:
            size_o *= e
    if reduces:
        for i in range(np.uint64(o), np.uint64(o + size_o)):
            x[i] = 0.0
    else:
        op = ASSIGN
    if k == 0:
        x[o] = x[a] * x[b]
        return 1
    if stride_a[0] == 0:  # the first factor is the one that runs, where only one does
        a, b = b, a
        stride_a, stride_b = stride_b, stride_a
    if stride_o[0] == 1:
        case = 2 if stride_a[0] == 0 else (0 if stride_b[0] == 1 else 1)
    else:
        case = 3 if stride_b[0] == 1 else 4
    if k == 1:
        _combine(op, case, x, a, b, o, count[0], np.int64(1), stride_a[0], stride_b[0], stride_o[0])
        return size_o
    for i in range(2, k):
        at[i] = 0
    while True:
        _combine(op, case, x, a, b, o, count[0], count[1], stride_a[1], stride_b[1], stride_o[1])
        i = 2
        while i < k:
            at[i] += 1
            a += stride_a[i]
            b += stride_b[i]
            o += stride_o[i]
            if at[i] < count[i]:
                break
            a -= at[i] * stride_a[i]
            b -= at[i] * stride_b[i]
            o -= at[i] * stride_o[i]
            at[i] = 0
            i += 1
        if i == k:
            return size_o


@njit(cache=True, nogil=True)
def _scale(x, start, size, lanes, log_scale):
    """Divide every lane of a table by its sum, and add the logarithm of that; 0 stays 0."""
    step = np.uint64(lanes)
    for lane in range(lanes):
        first, last = np.uint64(start + lane), np.uint64(start + size * lanes)
        found = 0.0
        for i in range(first, last, step):
            found += x[i]
        log_scale[lane] += np.log(found)
        if found > 0.0 and found != 1.0:
            for i in range(first, last, step):  # a reciprocal of what is nearly 0 would be infinite
                x[i] /= found


@njit(cache=True, nogil=True)
def _divide(x, message, up, size, lanes):
    """Turn a belief into the message to a child: divide by the child's own message (0 / 0 = 0), and scale."""
    message, up, step = np.uint64(message), np.uint64(up), np.uint64(lanes)
    for lane in range(lanes):
        first, last = np.uint64(lane), np.uint64(size * lanes)
        total = 0.0
        for i in range(first, last, step):
            x[message + i] = x[message + i] / x[up + i] if x[up + i] > 0.0 else 0.0
            total += x[message + i]
        if total > 0.0:
            for i in range(first, last, step):
                x[message + i] /= total


@njit(cache=True, nogil=True)
def _holds_small(x, start, size):
    """Return whether a table holds entries so small that further factors could make them vanish."""
    found = False
    for i in range(np.uint64(start), np.uint64(start + size)):
        found |= (x[i] > 0.0) & (x[i] < _SMALL)
    return found


@njit(cache=True, nogil=True)
def _add_logarithms(n_axes, extents, x, o, in_o, b, in_b, work):
    """Add the logarithms of table b to table o, which has all its axes and perhaps more."""
    stride_o, stride_b, at = 1, 1, work[0]
    for j in range(n_axes - 1, -1, -1):
        at[j] = 0
        work[1, j] = stride_b if in_b[j] else 0
        stride_o *= extents[j] if in_o[j] else 1
        stride_b *= extents[j] if in_b[j] else 1
    for entry in range(o, o + stride_o):
        x[entry] += np.log(x[b])
        for j in range(n_axes - 1, -1, -1):
            if in_o[j]:
                at[j] += 1
                b += work[1, j]
                if at[j] < extents[j]:
                    break
                b -= at[j] * work[1, j]
                at[j] = 0
    return stride_o


# The inputs of a clique


@njit(cache=True, nogil=True)
def _workspace(program, x):
    """Return the arrays of a run."""
    cliques, potentials = program.cliques, program.potentials
    n_potentials, widest, most_inputs = potentials.shape[0] - 1, 1, 1
    for c in range(cliques.shape[0] - 1):
        widest = max(widest, cliques[c + 1, MEMBERS] - cliques[c, MEMBERS])
        most_inputs = max(most_inputs, cliques[c + 1, INPUTS] - cliques[c, INPUTS])
    for f in range(n_potentials):
        widest = max(widest, potentials[f + 1, SCOPE] - potentials[f, SCOPE])
    widest += 1
    return _Workspace(
        x, np.empty(program.variables.shape[0], np.int64), np.empty(n_potentials, np.int64),
        np.empty(widest, np.int64), np.empty(most_inputs, np.int64), np.empty((most_inputs, widest), np.int64),
        np.empty((3, widest), np.int64), np.empty((5, widest), np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _apply_evidence(program, evidence, space):
    """Find the axes that evidence leaves, make evidence of some lanes soft, and mark the potentials it changes."""
    variables, potentials, (codes, likelihoods, is_soft) = program.variables, program.potentials, evidence
    lanes = codes.shape[1]
    for v in range(variables.shape[0]):
        n_observed = 0
        for lane in range(lanes):
            n_observed += codes[v, lane] >= 0
        space.extents[v] = 1 if n_observed == lanes else variables[v, N_STATES]
        if 0 < n_observed < lanes:
            is_soft[v] = 1
            for lane in range(lanes):
                code = codes[v, lane]
                for k in range(variables[v, N_STATES]):
                    likelihoods[variables[v, STATES] + k, lane] = 1.0 if code < 0 or code == k else 0.0
    for f in range(space.touched.shape[0]):
        space.touched[f] = 0
        for i in range(potentials[f, SCOPE], potentials[f + 1, SCOPE]):
            v = program.members[i]
            is_short = space.extents[v] == 1 and variables[v, N_STATES] > 1
            if is_short or (is_soft[v] and variables[v, OWN] == f):
                space.touched[f] = 1


@njit(cache=True, nogil=True)
def _copy_potential(program, evidence, space, f, read, write):
    """Copy what the evidence leaves of a potential, one entry for every free configuration and lane."""
    variables, x, extents = program.variables, space.x, space.extents
    codes, likelihoods, is_soft = evidence
    scope = program.members[program.potentials[f, SCOPE] : program.potentials[f + 1, SCOPE]]
    count, stride, at, lanes = space.work[0], space.work[1], space.work[2], codes.shape[1]
    k, size, total, softened, soft_axis = 0, 1, 1, -1, -1
    for i in range(scope.shape[0] - 1, -1, -1):
        v = scope[i]
        if extents[v] > 1:
            count[k], stride[k], at[k] = extents[v], size, 0
            if variables[v, OWN] == f and is_soft[v]:
                softened, soft_axis = v, k
            total *= extents[v]
            k += 1
        size *= variables[v, N_STATES]
    for lane in range(lanes):
        offset, size, factor = read, 1, 1.0
        for i in range(scope.shape[0] - 1, -1, -1):
            v = scope[i]
            if extents[v] == 1:
                offset += max(codes[v, lane], 0) * size
                if variables[v, OWN] == f and is_soft[v]:  # soft evidence about a variable of one state
                    factor *= likelihoods[variables[v, STATES], lane]
            size *= variables[v, N_STATES]
        for entry in range(total):
            value = x[offset] * factor
            if softened >= 0:
                value *= likelihoods[variables[softened, STATES] + at[soft_axis], lane]
            x[write + entry * lanes + lane] = value
            for i in range(k):
                at[i] += 1
                offset += stride[i]
                if at[i] < count[i]:
                    break
                offset -= at[i] * stride[i]
                at[i] = 0
    return total * lanes


@njit(cache=True, nogil=True, inline="always")
def _open_clique(program, at, evidence, space, c):
    """Find the lengths of a clique's axes and where its inputs lie; copy the potentials that evidence changes.

    Returns the number of axes, lanes included.
    """
    cliques, inputs, members = program.cliques, program.inputs, program.members
    n_cliques, n_potentials = cliques.shape[0] - 1, space.touched.shape[0]
    first, lanes = cliques[c, MEMBERS], evidence.codes.shape[1]
    n_axes = cliques[c + 1, MEMBERS] - first + 1
    for j in range(n_axes - 1):
        space.lengths[j] = space.extents[members[first + j]]
    space.lengths[n_axes - 1] = lanes
    write = at.copies
    for k in range(cliques[c + 1, INPUTS] - cliques[c, INPUTS]):
        i = cliques[c, INPUTS] + k
        source, axes = inputs[i, SOURCE], space.axes[k]
        for j in range(n_axes):
            axes[j] = j == n_axes - 1
        for j in range(inputs[i, AXES], inputs[i + 1, AXES]):
            axes[members[j]] = 1
        if source >= n_potentials:
            child = source - n_potentials
            message = at.up + cliques[child, MESSAGE] * lanes
            space.places[k] = message if child < n_cliques else at.down + cliques[c, MESSAGE] * lanes
            continue
        axes[n_axes - 1] = space.touched[source]
        space.places[k] = at.potentials + program.potentials[source, TABLE]
        if space.touched[source]:
            size = _copy_potential(program, evidence, space, source, space.places[k], write)
            space.places[k] = write
            write += size
    return n_axes


@njit(cache=True, nogil=True)
def _add_inputs(at, space, n_axes, order, log_scale):
    """Multiply inputs by adding their logarithms; the result is scaled to a largest entry of 1.

    Entries that are possible stay above 0, however small beside the largest one. The last input takes part if it has no
    axis of its own (the unit is then the last one); else there is no room.
    """
    x, lengths, places, axes, lanes = space.x, space.lengths, space.places, space.axes, space.lengths[n_axes - 1]
    in_a, in_b, last = space.flags[0], space.flags[1], order[-1]
    for j in range(n_axes):
        in_a[j] = j == n_axes - 1
        for t in range(order.shape[0] - 1):
            in_a[j] |= axes[order[t], j]
    size, n_added = 1, order.shape[0]
    for j in range(n_axes):
        size *= lengths[j] if in_a[j] else 1
        if axes[last, j] > in_a[j]:
            n_added = order.shape[0] - 1
    o = at.product if at.other_product - at.product >= at.end - at.other_product else at.other_product
    for i in range(o, o + size):
        x[i] = 0.0
    for t in range(n_added):
        _add_logarithms(n_axes, lengths, x, o, in_a, places[order[t]], axes[order[t]], space.work)
    for lane in range(lanes):
        largest = -np.inf
        for i in range(o + lane, o + size, lanes):
            largest = max(largest, x[i])
        log_scale[lane] += largest
        for i in range(o + lane, o + size, lanes):
            x[i] = max(np.exp(x[i] - largest), _SMALLEST) if x[i] > -np.inf else 0.0
    is_apart = n_added < order.shape[0]
    for j in range(n_axes):
        in_b[j] = axes[last, j] if is_apart else 0
    return o, places[last] if is_apart else UNIT


@njit(cache=True, nogil=True, inline="always")
def _multiply_inputs(at, space, n_axes, order, log_scale):
    """Multiply all inputs but the last; return where the product and the last input lie. flags[0], flags[1] are theirs.

    Where entries become very small (or a potential has such entries), logarithms are added instead. To scale a product
    would not do: it keeps the product from vanishing, but not one state beside another, and that could not come back.
    """
    x, lengths, places, axes = space.x, space.lengths, space.places, space.axes
    if x[LEAST] < _SMALL and order.shape[0] > 2:
        return _add_inputs(at, space, n_axes, order, log_scale)
    in_a, in_b, in_o = space.flags[0], space.flags[1], space.flags[2]
    a, free, other = UNIT, at.product, at.other_product
    for j in range(n_axes):
        in_a[j] = axes[order[0], j] if order.shape[0] > 1 else 0
        in_b[j] = axes[order[-1], j]
    if order.shape[0] > 1:
        a = places[order[0]]
    for t in range(1, order.shape[0] - 1):
        factor = axes[order[t]]
        grows = False  # by the axes alone, whatever their lengths: so the compiler placed the products
        for j in range(n_axes - 1):
            in_o[j] = in_a[j] | factor[j]
            grows = grows or in_o[j] > in_a[j]
        in_o[n_axes - 1] = 1
        o = a if t > 1 and not grows else free
        size = _contract(ASSIGN, n_axes, lengths, x, a, in_a, places[order[t]], factor, o, in_o, space.work)
        if o == free:
            free, other = other, free
        a = o
        for j in range(n_axes):
            in_a[j] = in_o[j]
        if (t % 2 == 0 or size <= _SMALL_PRODUCT) and _holds_small(x, a, size):
            return _add_inputs(at, space, n_axes, order, log_scale)
    return a, places[order[-1]]


@njit(cache=True, nogil=True, inline="always")
def _sum_product(op, space, n_axes, a, b, o):
    """Fill table o, whose axes flags[2] marks, with the sum (or maximum) of the product of a and b over the others."""
    in_a, in_b, in_o = space.flags[0], space.flags[1], space.flags[2]
    return _contract(op, n_axes, space.lengths, space.x, a, in_a, b, in_b, o, in_o, space.work)


# Messages


@njit(cache=True, nogil=True, inline="always")
def _order_up(program, c):
    """Return the inputs of a clique but for its parent's, in the order in which they are multiplied."""
    low, high = program.cliques[c, INPUTS], program.cliques[c + 1, INPUTS]
    return program.inputs[low : high - (program.cliques[c, PARENT] >= 0), UP]


@njit(cache=True, nogil=True, inline="always")
def _multiply_clique(program, at, evidence, space, c, is_down, log_scale):
    """Multiply the inputs of a clique, on the way down with its parent's; return (n_axes, product, last input)."""
    n_axes = _open_clique(program, at, evidence, space, c)
    low, high = program.cliques[c, INPUTS], program.cliques[c + 1, INPUTS]
    order = program.inputs[low:high, DOWN] if is_down else _order_up(program, c)
    a, b = _multiply_inputs(at, space, n_axes, order, log_scale)
    return n_axes, a, b


@njit(cache=True, nogil=True)
def _collect(program, at, evidence, space, is_maximised, log_scale):
    """Send the messages up, each the sum (or the maximum) over what its clique eliminates; add up their scales.

    Variables that are maximised are eliminated after the others, in cliques of their own.
    """
    cliques, lanes, in_o = program.cliques, evidence.codes.shape[1], space.flags[2]
    _apply_evidence(program, evidence, space)
    for c in range(cliques.shape[0] - 1):
        n_axes, a, b = _multiply_clique(program, at, evidence, space, c, False, log_scale)
        for j in range(n_axes):
            in_o[j] = j >= cliques[c, N_RESIDUAL]
        op = MAXIMISE if is_maximised[program.members[cliques[c, MEMBERS]]] else ADD
        message = at.up + cliques[c, MESSAGE] * lanes
        size = _sum_product(op, space, n_axes, a, b, message)
        _scale(space.x, message, size // lanes, lanes, log_scale)


@njit(cache=True, nogil=True)
def _needed_cliques(program, wanted, joint):
    """Mark the cliques that the way down has to pass: those that eliminate a wanted variable, and all above them."""
    variables, cliques = program.variables, program.cliques
    needed = np.zeros(cliques.shape[0], np.int64)
    if joint.shape[0] > 0:
        needed[variables[joint[0], HOME]] = 1
    for v in range(variables.shape[0]):
        if wanted[v]:
            needed[variables[v, HOME]] = 1
    for c in range(cliques.shape[0] - 1):
        if needed[c] and cliques[c, PARENT] >= 0:
            needed[cliques[c, PARENT]] = 1
    return needed


@njit(cache=True, nogil=True, inline="always")
def _send_down(program, at, space, c, n_axes, needed, a, b):
    """Send the messages of a clique to the children that are needed, from its product a · b."""
    inputs, first, n_potentials = program.inputs, program.cliques[c, INPUTS], space.touched.shape[0]
    n_cliques, in_o, lanes = program.cliques.shape[0] - 1, space.flags[2], space.lengths[n_axes - 1]
    for k in range(program.cliques[c + 1, INPUTS] - first):
        child = inputs[first + k, SOURCE] - n_potentials
        if not 0 <= child < n_cliques or not needed[child]:
            continue
        up, via = space.places[k], inputs[first + k, VIA]
        down = up - at.up + at.down
        for j in range(n_axes):
            in_o[j] = space.axes[k, j]
        if via >= 0 and needed[inputs[first + via, SOURCE] - n_potentials]:  # its belief is message up · message down
            wide = space.places[via]
            size = _contract(
                ADD, n_axes, space.lengths, space.x, wide, space.axes[via], wide - at.up + at.down, space.axes[via],
                down, in_o, space.work,
            )  # fmt: skip
        else:
            size = _sum_product(ADD, space, n_axes, a, b, down)
        _divide(space.x, down, up, size // lanes, lanes)


@njit(cache=True, nogil=True, inline="always")
def _write_marginals(program, at, evidence, space, c, n_axes, wanted, a, b, unused):
    """Write the marginals of the wanted variables that are eliminated in clique c, from its product a · b."""
    variables, x, lanes = program.variables, space.x, space.lengths[n_axes - 1]
    in_a, in_b, in_o = space.flags[0], space.flags[1], space.flags[2]
    residual = program.cliques[c, N_RESIDUAL]
    if program.cliques[c, JOINTLY]:
        for j in range(n_axes):
            in_o[j] = j < residual or j == n_axes - 1
        _sum_product(ADD, space, n_axes, a, b, at.scratch)
        a, b = at.scratch, UNIT
        for j in range(n_axes):
            in_a[j], in_b[j] = in_o[j], 0
    for i in range(residual):
        v = program.members[program.cliques[c, MEMBERS] + i]
        if not wanted[v]:
            continue
        write = at.marginals + variables[v, STATES] * lanes
        if space.extents[v] == 1:
            for k in range(variables[v, N_STATES]):
                for lane in range(lanes):
                    x[write + k * lanes + lane] = 1.0 if k == max(evidence.codes[v, lane], 0) else 0.0
            continue
        for j in range(n_axes):
            in_o[j] = j == i or j == n_axes - 1
        _sum_product(ADD, space, n_axes, a, b, write)
        _scale(x, write, variables[v, N_STATES], lanes, unused)


@njit(cache=True, nogil=True, inline="always")
def _write_joint(program, at, space, c, n_axes, joint, a, b, unused):
    """Write the joint table of variables of clique c behind the end of the buffer, from its product a · b."""
    in_o, lanes = space.flags[2], space.lengths[n_axes - 1]
    for j in range(n_axes - 1):
        in_o[j] = 0
        for v in joint:
            in_o[j] |= program.members[program.cliques[c, MEMBERS] + j] == v
    in_o[n_axes - 1] = 1
    size = _sum_product(ADD, space, n_axes, a, b, at.end)
    _scale(space.x, at.end, size // lanes, lanes, unused)


@njit(cache=True, nogil=True)
def propagate(variables, potentials, cliques, inputs, members, sizes, x, codes, likelihoods, is_soft, wanted, joint):
    """Compute the logarithm of the probability of the evidence, and the marginals of the wanted variables.

    Both are written to the buffer x; a lane of impossible evidence gets −∞. The variables of ``joint``, in the order of
    elimination, have their joint table written behind the end of the layout; they must stand in the home clique of the
    first of them.
    """
    program, evidence = (
        Program(variables, potentials, cliques, inputs, members, sizes),
        Evidence(codes, likelihoods, is_soft),
    )
    lanes = codes.shape[1]
    at, space = layout(sizes, lanes), _workspace(program, x)
    log_evidence, unused = x[at.log_evidence : at.marginals], np.zeros(lanes)
    log_evidence[:] = 0.0
    _collect(program, at, evidence, space, np.zeros(program.variables.shape[0], np.int64), log_evidence)
    needed = _needed_cliques(program, wanted, joint)
    joint_clique = program.variables[joint[0], HOME] if joint.shape[0] > 0 else -1
    for c in range(cliques.shape[0] - 2, -1, -1):
        if not needed[c]:
            continue
        n_axes, a, b = _multiply_clique(program, at, evidence, space, c, True, unused)
        _send_down(program, at, space, c, n_axes, needed, a, b)
        if c == joint_clique:
            _write_joint(program, at, space, c, n_axes, joint, a, b, unused)
        _write_marginals(program, at, evidence, space, c, n_axes, wanted, a, b, unused)


# Most probable states, conditioning


@njit(cache=True, nogil=True, inline="always")
def _input_entry(program, at, space, c, i, chosen, strides):
    """Return where input i of clique c has its entry for the chosen states, and set the stride of each of c's axes.

    A potential is read where it lies, with all its axes; a message has the axes that the evidence left.
    """
    inputs, variables, first = program.inputs, program.variables, program.cliques[c, MEMBERS]
    source, n_potentials = inputs[i, SOURCE], program.potentials.shape[0] - 1
    is_potential = source < n_potentials
    if is_potential:
        entry = at.potentials + program.potentials[source, TABLE]
    else:
        entry = at.up + program.cliques[source - n_potentials, MESSAGE]
    for j in range(strides.shape[0]):
        strides[j] = 0
    stride = 1
    for j in range(inputs[i + 1, AXES] - 1, inputs[i, AXES] - 1, -1):
        axis = program.members[j]
        v = program.members[first + axis]
        extent = variables[v, N_STATES] if is_potential else space.extents[v]
        if extent > 1:
            strides[axis] = stride
            entry += max(chosen[v], 0) * stride
            stride *= extent
    return entry


@njit(cache=True, nogil=True, inline="always")
def _choose_residual(program, at, evidence, space, c, chosen, entries, strides):
    """Set the residual variables of clique c to the states at which the product of its inputs is largest."""
    first, residual = program.cliques[c, MEMBERS], program.cliques[c, N_RESIDUAL]
    residents, order, low = program.members[first : first + residual], _order_up(program, c), program.cliques[c, INPUTS]
    states, best, softened = np.zeros(residual, np.int64), np.zeros(residual, np.int64), np.zeros(residual, np.int64)
    for t in range(order.shape[0]):
        i = low + order[t]
        entries[t] = _input_entry(program, at, space, c, i, chosen, strides[t])
        for j in range(residual):
            is_own = program.inputs[i, SOURCE] == program.variables[residents[j], OWN]
            softened[j] |= evidence.is_soft[residents[j]] and is_own
    largest, j = -np.inf, 0
    while j >= 0:
        value = 0.0
        for t in range(order.shape[0]):
            value += np.log(space.x[entries[t]])
        for j in range(residual):
            if softened[j]:
                value += np.log(evidence.likelihoods[program.variables[residents[j], STATES] + states[j], 0])
        if value > largest:
            largest = value
            best[:] = states
        j = residual - 1
        while j >= 0:
            states[j] += 1
            carry = states[j] >= space.extents[residents[j]]
            for t in range(order.shape[0]):
                entries[t] += strides[t, j] * (1 - states[j] if carry else 1)
            if not carry:
                break
            states[j] = 0
            j -= 1
    for j in range(residual):
        if space.extents[residents[j]] > 1:
            chosen[residents[j]] = best[j]


@njit(cache=True, nogil=True)
def maximise(
    variables, potentials, cliques, inputs, members, sizes, x, codes, likelihoods, is_soft, is_maximised, chosen
):
    """Find the most probable states of some variables, the others summed out; return their log-probability.

    ``chosen`` gets the state of every variable that is maximised; the observed ones keep theirs.
    """
    program = Program(variables, potentials, cliques, inputs, members, sizes)
    evidence = Evidence(codes, likelihoods, is_soft)
    at, space, log_largest = layout(sizes, 1), _workspace(program, x), np.zeros(1)
    _collect(program, at, evidence, space, is_maximised, log_largest)
    for v in range(chosen.shape[0]):
        chosen[v] = evidence.codes[v, 0]
    entries, strides = np.empty(space.axes.shape[0], np.int64), np.empty(space.axes.shape, np.int64)
    for c in range(program.cliques.shape[0] - 2, -1, -1):
        if is_maximised[program.members[program.cliques[c, MEMBERS]]]:
            _choose_residual(program, at, evidence, space, c, chosen, entries, strides)
    return log_largest[0]


@njit(cache=True, nogil=True)
def condition(
    variables, potentials, cliques, inputs, members, sizes, x, codes, likelihoods, is_soft, table_start, tables
):
    """Write the distribution of each variable given the other members of its clique, and return ln P(evidence).

    Every clique must eliminate one variable, and no variable may be observed. Tables have the separator's axes first
    and the variable's own last; configurations that cannot occur get its first state.
    """
    program = Program(variables, potentials, cliques, inputs, members, sizes)
    evidence = Evidence(codes, likelihoods, is_soft)
    at, space = layout(sizes, 1), _workspace(program, x)
    log_evidence, unused = np.zeros(1), np.zeros(1)
    _collect(program, at, evidence, space, np.zeros(program.variables.shape[0], np.int64), log_evidence)
    for c in range(cliques.shape[0] - 1):
        n_axes, a, b = _multiply_clique(program, at, evidence, space, c, False, unused)
        for j in range(n_axes):
            space.flags[2, j] = 1
        _sum_product(ADD, space, n_axes, a, b, at.end)
        v, size = program.members[cliques[c, MEMBERS]], cliques[c + 1, MESSAGE] - cliques[c, MESSAGE]
        n_states = program.variables[v, N_STATES]
        for s in range(size):
            total = 0.0
            for k in range(n_states):
                total += x[at.end + k * size + s]
            for k in range(n_states):
                share = x[at.end + k * size + s] / total if total > 0.0 else 1.0 * (k == 0)
                tables[table_start[v] + s * n_states + k] = share
    return log_evidence[0]
