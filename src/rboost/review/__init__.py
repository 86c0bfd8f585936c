"""The page on which a person checks labels, and the store behind it."""
