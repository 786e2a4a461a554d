"""Formalisms: functions from one :class:`~bestiary.modeling.Model` to its equations."""
