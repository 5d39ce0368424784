"""A page to type into: a model asked from the browser, word by word, by a server on this machine.

`server` speaks HTTP, `questions` reads what is asked, `asked_model` answers it, `document` is the
page itself, whose style, scripts, examples and labels in French and English stand beside it.
"""
