"""Audits of Parquet data sets that are larger than memory: seconds, memory, and what is found."""
