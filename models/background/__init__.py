"""b(K, x), the prior mass of every word: unigram, n-gram, and how counts are discounted."""
