"""Pure numerics: arrays in, arrays out. Kernels know nothing of ensembles."""
