"""What a layer over signatures is made of: their scores, the shares of words in them, products."""
