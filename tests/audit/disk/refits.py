"""A new fit from the folder of an audit, as a review makes it."""

from rboost.audit.disk.folder import read_audit, read_record, write_refitted


def refit(folder, checked):
    """Fit again with classes by the positions of their rows, and write the folder."""
    opened, audit = read_record(folder), read_audit(folder)
    again = audit.refit({audit.ids[row]: audit.classes[label] for row, label in checked.items()})
    write_refitted(folder, opened, again)
    return again
