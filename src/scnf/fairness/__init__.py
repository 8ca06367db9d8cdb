"""Fair representations: a table's rows without what they tell of a protected column, and what is left to tell."""

from scnf.fairness.hider import AttributeHider
from scnf.fairness.measuring import Measured, measure

__all__ = ["AttributeHider", "Measured", "measure"]
