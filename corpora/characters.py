"""The characters at which French text is cut, as classes for regular expressions.

The tables are those of spaCy 3.8 (MIT licence), less what normalised text never holds. They are
written out, as Unicode's own categories grow with Python's releases and words must not change.
"""

import re

# Letters by their numbers: Latin, Greek and Cyrillic with their two cases, and the others.
CASED = """
    41-5a 61-7a c0-d6 d8-f6 f8-1bf 1c4-2af 386 388-38a 38c 38e-38f 391-3a1 3a3-3a9 3ac-3af
    3b1-3c9 3cc-3ce 400-401 403-40a 40c-40d 410-451 453-45a 45c-45d 490-491 496-497 4a2-4a3
    4ae-4af 4ba-4bb 4d8-4d9 4e8-4e9 1d00-1d25 1d6b-1d77 1d79-1d9a 1e00-1eff 2c60-2c7b 2c7e-2c7f
    a722-a76f a771-a787 a78b-a78e a790-a7b9 a7fa ab30-ab5a ab60-ab64 ff21-ff3a ff41-ff5a
"""
UNCASED = """
    591-5f4 620-64a 66e-6d5 6e5-6ff 750-77f 8a0-8bd 900-9ff b80-cff d80-dff 1100-137f 2e80-2fdf
    2ff0-30ff 31c0-31ef 3200-4dbf 4e00-9fff ac00-d7af f900-faff fb1d-fbb1 fbd3-fd3d fd50-fdc7
    fdf0-fdfb fe30-fe4f fe70-fefc 1ee00-1eebb 1f200-1f2ff 20000-2a6df 2a700-2ebef 2f800-2fa1f
"""
# Dingbats, arrows, emoji: what Unicode 11 called other symbols.
SIGNS = """
    a6 a9 ae b0 482 58d-58e 60e-60f 6de 6e9 6fd-6fe 7f6 9fa b70 bf3-bf8 bfa c7f d4f d79 f01-f03
    f13 f15-f17 f1a-f1f f34 f36 f38 fbe-fc5 fc7-fcc fce-fcf fd5-fd8 109e-109f 1390-1399 1940
    19de-19ff 1b61-1b6a 1b74-1b7c 2100-2101 2103-2106 2108-2109 2114 2116-2117 211e-2123 2125
    2127 2129 212e 213a-213b 214a 214c-214d 214f 218a-218b 2195-2199 219c-219f 21a1-21a2
    21a4-21a5 21a7-21ad 21af-21cd 21d0-21d1 21d3 21d5-21f3 2300-2307 230c-231f 2322-2328
    232b-237b 237d-239a 23b4-23db 23e2-2426 2440-244a 249c-24e9 2500-25b6 25b8-25c0 25c2-25f7
    2600-266e 2670-2767 2794-27bf 2800-28ff 2b00-2b2f 2b45-2b46 2b4d-2b73 2b76-2b95 2b98-2bc8
    2bca-2bfe 2ce5-2cea 2e80-2e99 2e9b-2ef3 2f00-2fd5 2ff0-2ffb 3004 3012-3013 3020 3036-3037
    303e-303f 3190-3191 3196-319f 31c0-31e3 3200-321e 322a-3247 3250 3260-327f 328a-32b0
    32c0-32fe 3300-33ff 4dc0-4dff a490-a4c6 a828-a82b a836-a837 a839 aa77-aa79 fdfd ffe4 ffe8
    ffed-ffee fffc-fffd 10137-1013f 10179-10189 1018c-1018e 10190-1019b 101a0 101d0-101fc
    10877-10878 10ac8 1173f 16b3c-16b3f 16b45 1bc9c 1d000-1d0f5 1d100-1d126 1d129-1d164
    1d16a-1d16c 1d183-1d184 1d18c-1d1a9 1d1ae-1d1e8 1d200-1d241 1d245 1d300-1d356 1d800-1d9ff
    1da37-1da3a 1da6d-1da74 1da76-1da83 1da85-1da86 1ecac 1f000-1f02b 1f030-1f093 1f0a0-1f0ae
    1f0b1-1f0bf 1f0c1-1f0cf 1f0d1-1f0f5 1f110-1f16b 1f170-1f1ac 1f1e6-1f202 1f210-1f23b
    1f240-1f248 1f250-1f251 1f260-1f265 1f300-1f3fa 1f400-1f6d4 1f6e0-1f6ec 1f6f0-1f6f9
    1f700-1f773 1f780-1f7d8 1f800-1f80b 1f810-1f847 1f850-1f859 1f860-1f887 1f890-1f8ad
    1f900-1f90b 1f910-1f93e 1f940-1f970 1f973-1f976 1f97a 1f97c-1f9a2 1f9b0-1f9b9 1f9c0-1f9c2
    1f9d0-1f9ff 1fa60-1fa6d
"""


def _members(table: str) -> str:
    """The characters of a table, in order."""
    ends = (entry.partition("-") for entry in table.split())
    spans = (range(int(first, 16), int(last or first, 16) + 1) for first, _, last in ends)
    return "".join(chr(number) for span in spans for number in span)


def _ranges(table: str) -> str:
    """A table as it stands between the brackets of a regular expression."""
    return re.sub(r"[0-9a-f]+", lambda number: chr(int(number[0], 16)), table).translate(GAPS)


GAPS = str.maketrans("", "", " \n")
LETTER = _ranges(CASED + UNCASED)
LOWER = "".join(filter(str.islower, _members(CASED))) + "ʔ" + _ranges(UNCASED)  # ʔ has no capital
UPPER = "".join(filter(str.isupper, _members(CASED))) + _ranges(UNCASED)
SIGN = _ranges(SIGNS)
PUNCTUATION = re.escape(",:;!?¿؟¡()[]{}<>_#*&。？！，、；：～·।،۔؛٪")
QUOTE = re.escape("'\"”“`‚,„»«「」『』（）〔〕【】《》〈〉⟦⟧")
CURRENCY = r"\$£€¥฿﷼₠-₿"
DOLLARS = r"(?:US|C|A)\$"

# What is split off a number that it follows.
UNITS = """
    km km² km³ m m² m³ dm dm² dm³ cm cm² cm³ mm mm² mm³ ha nm yd in ft kg g mg t lb oz m/s km/h kmh
    mph hPa Pa mbar mb MB kb KB gb GB tb TB T G M K %
    км км² км³ м м² м³ дм дм² дм³ см см² см³ мм мм² мм³ нм кг г мг м/с км/ч кПа Па мбар Кб КБ кб Мб
    МБ мб Гб ГБ гб Тб ТБ
    كم كم² كم³ م م² م³ سم سم² سم³ مم مم² مم³ غرام جرام جم كغ ملغ كوب اكواب
"""
