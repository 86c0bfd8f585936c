"""The experiments of the paper: what was run, how, and what came out."""
