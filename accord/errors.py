"""Errors that a user can mend. All others are faults of Accord and keep their traceback."""

import errno

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk or a quota; writers do not say which


class AccordError(ValueError):
    """A mistake in the input; its message says what was expected, what was found, and where."""


class NotFoundError(AccordError, FileNotFoundError):
    """A file, folder or model that is not there; its message says what was expected."""


class ExistsError(AccordError, FileExistsError):
    """A file or folder that must not be replaced is there already."""


class NumericalError(AccordError, FloatingPointError):
    """Numbers that are not finite where they must be; its message says what may help."""
