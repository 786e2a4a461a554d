"""What is wrong with a model, said so that its author can act on it."""

from __future__ import annotations


class ModelError(ValueError):
    """A model that cannot be derived; the message names the body, joint or parameter."""


class ModelWarning(UserWarning):
    """A model that can be derived but that no physical robot can have."""
