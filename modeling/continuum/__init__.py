"""Constant-curvature arcs: exact integrals of their shape functions, and tails made of them."""
