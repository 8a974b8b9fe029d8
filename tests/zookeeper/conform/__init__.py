"""Records of free-running ensembles."""
