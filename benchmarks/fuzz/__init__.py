"""Mutated inputs: each ends in a result or in one sentence, never in a traceback."""
