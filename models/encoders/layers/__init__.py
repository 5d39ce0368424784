"""Recurrent layers, and how a GPU reads several of them at the same time."""
