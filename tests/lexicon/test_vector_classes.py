"""Classes of vectors: heaps are found, and found again."""

import numpy as np

from lexicon.vector_classes import kmeans


def heaps() -> tuple[np.ndarray, np.ndarray]:
    """Thirty vectors around each of four directions, of any length."""
    generator = np.random.default_rng(0)
    heap = np.repeat(np.arange(4), 30)
    vectors = np.eye(4)[heap] + generator.normal(scale=0.05, size=(120, 4))
    return heap, vectors * generator.uniform(1, 9, size=(120, 1))


def test_vectors_of_one_direction_are_in_one_class():
    heap, vectors = heaps()
    classes = kmeans(vectors, 8)
    pairs = {(int(one), int(other)) for one, other in zip(classes, heap, strict=True)}
    assert len(pairs) == len({one for one, _ in pairs}), "no class is of two heaps"


def test_classes_are_the_same_each_time_and_no_more_than_asked():
    _, vectors = heaps()
    assert np.array_equal(kmeans(vectors, 5), kmeans(vectors.copy(), 5))
    assert set(kmeans(vectors, 5)) <= set(range(5))


def test_fewer_vectors_than_classes_have_one_each():
    assert kmeans(np.eye(3), 5).tolist() == [0, 1, 2]
