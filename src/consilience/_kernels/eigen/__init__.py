"""The one door to eigenvectors of symmetric matrices: which solver takes which problem.

:func:`eigenpairs` decomposes a dense matrix (:func:`every_eigenpair` where all are wanted),
:func:`smallest_eigenvectors` finds the low end of a Laplacian from a start (LOBPCG),
:func:`leading_eigenvectors` the high end of any operator (block Lanczos), and :func:`graph_eigenvectors` that
of a sparse graph. The last three go dense by themselves where that is quicker.
"""

from .dense import eigenpairs as eigenpairs
from .dense import every_eigenpair as every_eigenpair
from .lanczos import Leading as Leading
from .lanczos import graph_eigenvectors as graph_eigenvectors
from .lanczos import leading_eigenvectors as leading_eigenvectors
from .lobpcg import component_vectors as component_vectors
from .lobpcg import smallest_eigenvectors as smallest_eigenvectors
