"""Labels of a file audited: which are probably wrong, and a model that predicts the true ones."""
