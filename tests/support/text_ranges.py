"""The part of a text that a range of the wire names, in each position encoding."""

_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def part_of(text: str, range_: dict[str, int], encoding: str = "utf-16") -> str:
    codec, size = _UNITS[encoding]
    return text.encode(codec)[range_["start"] * size : range_["end"] * size].decode(codec)
