"""Words, plots and pages: what an audit found, shown to a person. No maths here."""
