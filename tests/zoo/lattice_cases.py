"""Small lattices of any shape, and all of their paths."""

from hypothesis import strategies as st

from accord.zoo.lattices import Arc, Lattice

NODES = 5
SCORES = st.integers(-40, 40).map(lambda eighths: eighths / 8)  # whose sums are exact
ARCS = st.builds(
    lambda start, step, word, score: Arc(start, min(start + step, NODES), word, score),
    st.integers(0, NODES - 1),
    st.integers(1, 2),
    st.sampled_from(["", "a", "b", "c"]),
    SCORES,
)
LATTICES = st.builds(
    lambda arcs, final: Lattice("u", (*arcs, Arc(0, NODES, "a", 0.0)), {NODES: final}),
    st.lists(ARCS, max_size=12),
    SCORES,
)


def every_path(lattice: Lattice, node: int = 0) -> list[tuple[tuple[str, ...], float]]:
    found = [((), lattice.ends[node])] if node in lattice.ends else []
    for arc in lattice.arcs:
        if arc.start == node:
            said = (arc.word,) if arc.word else ()
            found += [(said + words, arc.score + s) for words, s in every_path(lattice, arc.end)]
    return found
