"""Where labels are so few that NumPy reads them in no time.

Kernels for them would take longer to compile than thousands of such problems take: what is done once per fit
has a way without kernels for few labels. Answers are the same, to the last bit: whole numbers, or sums in the
same order.
"""

from __future__ import annotations

#: Labels (objects times clusterings) up to which there are few.
FEW_LABELS = 2**15
