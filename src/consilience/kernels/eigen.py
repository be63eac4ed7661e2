"""The one door to eigenvectors of symmetric matrices: which solver takes which problem.

:func:`eigenpairs` decomposes a dense matrix, :func:`smallest_eigenvectors` finds the low end of a Laplacian from a start
(LOBPCG), :func:`leading_eigenvectors` the high end of any operator (block Lanczos), and :func:`graph_eigenvectors`
that of a sparse graph. The last three go dense by themselves where that is quicker.
"""

from .dense_eigen import eigenpairs
from .krylov import Leading, graph_eigenvectors, leading_eigenvectors
from .spectra import Spectrum, component_vectors, dense_eigenvectors, smallest_eigenvectors

__all__ = [
    "Leading",
    "Spectrum",
    "component_vectors",
    "dense_eigenvectors",
    "eigenpairs",
    "graph_eigenvectors",
    "leading_eigenvectors",
    "smallest_eigenvectors",
]
