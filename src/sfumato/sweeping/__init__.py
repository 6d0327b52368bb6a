"""The trade-off explorer: one plan with some of its numbers varied, each combination made, audited and measured."""

from sfumato.sweeping.grid import Axis as Axis
from sfumato.sweeping.grid import Combination as Combination
from sfumato.sweeping.grid import Grid as Grid
from sfumato.sweeping.grid import grid_of as grid_of
from sfumato.sweeping.grid import parse_vary as parse_vary
from sfumato.sweeping.running import sweep as sweep
