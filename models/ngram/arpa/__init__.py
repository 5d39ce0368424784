"""n-gram models as ARPA files, which KenLM, SRILM and recognisers read; `.gz` ones too.

The file has words, the model ids: `forms` names them, END's being `</s>`. As the oldest word of a
context END is written `<s>`.
"""
