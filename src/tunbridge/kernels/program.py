"""The program of a junction tree: one array of whole numbers in sections.

It is written by junction.py and run by propagation.py. The first entries of the array say where each section begins.
"""

import numpy as np
from numba import njit

# Sections of the program, in the order in which they are written. (A Python int would be a type of its own to numba,
# and every function that gets one compiled once for each.) Per variable:
N_STATES = np.int64(0)
HOME = np.int64(1)  # the clique in which the variable is eliminated
OWN = np.int64(2)  # the potential that takes up its soft evidence
STATE_START = np.int64(3)  # where its states begin in a flat array over all states
# per potential, its scope in the order of elimination:
SCOPE_START = np.int64(4)
SCOPE_VARS = np.int64(5)
TABLE_START = np.int64(6)
# per clique, children before parents:
CLIQUE_START = np.int64(7)
CLIQUE_VARS = np.int64(8)
N_RESIDUAL = np.int64(9)  # how many leading axes are eliminated in it; the others are the separator
PARENT = np.int64(10)
MESSAGE_START = np.int64(11)
JOINTLY = np.int64(12)  # whether the marginals of its residual variables are read from their joint table
# per input of a clique:
INPUT_START = np.int64(13)
SOURCE = np.int64(14)  # a potential, n_potentials + a child, or n_potentials + n_cliques: the parent
AXES_START = np.int64(15)
AXES = np.int64(16)
UP_ORDER = np.int64(17)
DOWN_ORDER = np.int64(18)
VIA = np.int64(19)  # the input of the same clique whose separator holds that of this child too, −1: the clique itself
SIZES = np.int64(20)  # entries of the potentials, messages, copied potentials, scratch, product, other product
N_SECTIONS = 21


@njit(cache=True, nogil=True)
def section(program, k):
    """Return one section of a program."""
    return program[program[k] : program[k + 1]]
