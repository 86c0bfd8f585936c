"""Tables whose labels were really wrong: methods compared, and a person's answers simulated."""
