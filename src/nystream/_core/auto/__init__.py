"""Parts of the automatic learner and of ensembles."""
