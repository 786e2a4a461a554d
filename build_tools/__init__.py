"""From equations to code: back ends, templates, compiler, cache and build planning."""
