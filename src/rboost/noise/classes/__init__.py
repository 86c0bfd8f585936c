"""The noise of more than two classes: one joint model, several kinds of noise, averaged."""
