# What Corrobora uses of PyStemmer, which ships without types.

class Stemmer:
    maxCacheSize: int  # noqa: N815 - its name there
    def __init__(self, algorithm: str, maxCacheSize: int = 10_000) -> None: ...  # noqa: N803 - its name there
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - its name there
    def stemWords(self, words: list[str]) -> list[str]: ...  # noqa: N802 - its name there
