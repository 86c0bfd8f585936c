"""Any table as columns of five kinds, and columns as numbers for learners."""
