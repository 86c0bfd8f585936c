"""Logistic regression of a few hundred features, of two and of more classes, in milliseconds."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from rboost._typing import Floats, Integers

# The search ends where no component of the scaled gradient is larger; probabilities then have two
# digits, and more would not make a better member of an ensemble.
TOLERANCE = 5e-4
# This share of their mean curvature is added to features that a weak penalty would leave alike.
RIDGE = 1e-8
# Of two classes: where Newton's method ends, after how many steps at the latest, and how often a
# step that leads upwards is halved.
TOLERANCE_OF_TWO, MOST_STEPS, MOST_HALVINGS = 1e-3, 100, 20


def fit_logistic(
    features: Floats, observed: Integers, sample_weight: Floats, C: float
) -> tuple[Floats, Floats]:
    """Coefficients (n_features,) and intercept of two classes, penalised as scikit-learn does.

    Newton's method from 0 until neither gradient nor step matter, as its solver
    "newton-cholesky", without the checks that take longer than a fit.
    """
    share = sample_weight / sample_weight.sum()
    Z = np.column_stack([features, np.ones(len(features))])
    penalty = np.append(np.full(features.shape[1], 1 / (C * sample_weight.sum())), 0.0)
    signs = np.where(observed > 0, 1.0, -1.0)

    def loss_of(parameters: Floats) -> float:
        losses = np.logaddexp(0.0, -signs * (Z @ parameters))
        return float(share @ losses + 0.5 * penalty @ parameters**2)

    def gradient_of(probability: Floats, parameters: Floats) -> Floats:
        return Z.T @ (share * (probability - (observed > 0))) + penalty * parameters

    parameters = np.zeros(Z.shape[1])
    probability, loss = np.full(len(Z), 0.5), loss_of(parameters)
    gradient = gradient_of(probability, parameters)
    for _ in range(MOST_STEPS):
        curvature = (Z.T * (share * probability * (1 - probability))) @ Z + np.diag(penalty)
        curvature[np.diag_indices_from(curvature)] += RIDGE * np.trace(curvature) / len(curvature)
        step = -cho_solve(cho_factor(curvature, check_finite=False), gradient, check_finite=False)
        length, slope = 1.0, float(gradient @ step)
        for _ in range(MOST_HALVINGS):
            after = loss_of(parameters + length * step)
            if after <= loss + 1e-4 * length * slope + 1e-14:
                break
            length /= 2
        else:
            break  # rounding leaves nothing to gain
        parameters, loss = parameters + length * step, after
        probability = expit(Z @ parameters)
        gradient = gradient_of(probability, parameters)
        if np.abs(gradient).max() <= TOLERANCE_OF_TWO and -slope / 2 <= TOLERANCE_OF_TWO:
            break
    return parameters[:-1], parameters[-1]


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
