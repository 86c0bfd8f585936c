"""Multinomial logistic regression of a few hundred features, in milliseconds."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from rboost._typing import Floats, Integers

# The search ends where no component of the scaled gradient is larger; probabilities then have two
# digits, and more would not make a better member of an ensemble.
TOLERANCE = 5e-4
# This share of their mean curvature is added to features that a weak penalty would leave alike.
RIDGE = 1e-8


def fit_softmax(
    features: Floats, observed: Integers, sample_weight: Floats, C: float
) -> tuple[Floats, Floats]:
    """Coefficients (n_features, n_classes) and intercepts, penalised as scikit-learn does.

    No curvature of the loss is larger than A = ½·ZᵀWZ for any class (Böhning 1992), Z being the
    features and a column of ones. L-BFGS in coordinates in which A and the penalty are the identity
    needs a third of the steps.
    """
    n_rows, n_features = features.shape
    share = sample_weight / sample_weight.sum()
    Z = np.column_stack([features, np.ones(n_rows)])
    penalty = np.append(np.full(n_features, 1 / (C * sample_weight.sum())), 0.0)
    bound = (Z.T * (share / 2)) @ Z + np.diag(penalty)
    bound[np.diag_indices_from(bound)] += RIDGE * np.trace(bound) / len(bound)
    # The coefficients are scaling @ parameters.
    scaling = solve_triangular(cholesky(bound, lower=True), np.eye(len(bound)), lower=True).T
    Z, penalty = Z @ scaling, (scaling.T * penalty) @ scaling
    labels = np.eye(observed.max() + 1)[observed]

    def value_and_gradient(packed: Floats) -> tuple[float, Floats]:
        parameters = packed.reshape(Z.shape[1], -1)
        scores = Z @ parameters
        scores -= scores.max(axis=1, keepdims=True)
        powers = np.exp(scores)
        total = powers.sum(axis=1)
        shrinkage = penalty @ parameters
        loss = share @ (np.log(total) - np.sum(scores * labels, axis=1))
        residuals = (powers.T * (share / total)).T - (labels.T * share).T
        gradient = Z.T @ residuals + shrinkage
        return loss + 0.5 * np.vdot(parameters, shrinkage), gradient.ravel()

    start = np.zeros(Z.shape[1] * labels.shape[1])
    options = {"gtol": TOLERANCE, "ftol": 0.0, "maxiter": 200}
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    coefficients = scaling @ found.x.reshape(Z.shape[1], -1)
    return coefficients[:-1], coefficients[-1]
