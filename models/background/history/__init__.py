"""What n-grams look back on: the last words, some of them, their factors, or their classes.

A history is made from `Given`, and is a background whose masses sum to one in every context.
"""
