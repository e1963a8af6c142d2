"""pgvector's operator classes of indexes USING hnsw, and the canonical names of the distances that they are for."""

from __future__ import annotations

DISTANCE_OF_CLASS = {
    "vector_l2_ops": "l2_distance",
    "vector_ip_ops": "negative_inner_product",
    "vector_cosine_ops": "cosine_distance",
}
CLASS_OF_DISTANCE = {distance: name for name, distance in DISTANCE_OF_CLASS.items()}
