"""What is computed from the result of an audit: arrays in, numbers out."""
