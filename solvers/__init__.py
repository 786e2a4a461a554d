"""Numbers: simulation and results; control, optimal control and fitting build on these."""
