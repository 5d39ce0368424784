"""Several models as one: mixtures, a cache, nearest neighbours."""
