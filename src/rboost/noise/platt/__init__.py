"""Noise-aware Platt scaling: how the noise of two classes is integrated over."""
