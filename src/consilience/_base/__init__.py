"""The basis of everything: rules of parameters, names, random generators, progress, and estimators."""
