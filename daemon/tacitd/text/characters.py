"""Sets of characters of Unicode 17 that `unicodedata` does not offer, and the patterns built from them.

Sources: DerivedCoreProperties.txt (Default_Ignorable_Code_Point), DerivedJoiningType.txt, emoji-data.txt,
emoji-variation-sequences.txt and emoji-zwj-sequences.txt of the Unicode Character Database; UTS #51 for the form of
emoji sequences; RFC 5892, appendix A.1 and A.2, for the joiners. What is removed or kept is decided in sanitize.py.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

ZWNJ, ZWJ = "\u200c", "\u200d"
TEXT_STYLE, EMOJI_STYLE = "\ufe0e", "\ufe0f"


def _character_class(ranges: str) -> str:
    """The inside of a regular expression's `[…]` for space-separated hexadecimal ranges."""
    ends = (part.split("-") for part in ranges.split())
    return "".join("-".join(f"\\U{int(end, 16):08x}" for end in pair) for pair in ends)


_INVISIBLE = (
    # Default_Ignorable_Code_Point
    "AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0 FFF0-FFF8 "
    "1BCA0-1BCA3 1D173-1D17A E0000-E0FFF "
    # drawn as nothing or as a space, although they are letters, symbols or formats: braille blank, interlinear
    # annotation, object replacement, Egyptian joiners, Khitan filler, empty note head
    "2800 FFF9-FFFC 13430-1343F 16FE4 1D159"
)
_VISIBLE_FORMATS = "600-605 6DD 70F 890-891 8E2 110BD 110CD"
"""Prepended_Concatenation_Mark: of category Cf, but visible, such as the sign of a verse's end in the Quran."""
_ASSIGNED_LATER = "1F000-1FAFF 2EBF0-2EE5D 31350-33479"
"""Emoji (also reserved ones, Extended_Pictographic) and ideographs that an older `unicodedata` reports as unassigned."""


def _list_edges(ranges: str) -> list[int]:
    """For space-separated hexadecimal ranges, where each begins and where what follows it begins, in order."""
    ends = (part.split("-") for part in ranges.split())
    return sorted(edge for pair in ends for edge in (int(pair[0], 16), int(pair[-1], 16) + 1))


_invisible = _list_edges(_INVISIBLE)
_visible_format = _list_edges(_VISIBLE_FORMATS)
_assigned_later = _list_edges(_ASSIGNED_LATER)


def _is_within(edges: list[int], char: str) -> bool:
    # Compiling a character class takes a hundred times as long as this, and most commands ask about few characters.
    return bisect_right(edges, ord(char)) % 2 == 1


@lru_cache(maxsize=4096)
def is_hidden(char: str) -> bool:
    """Whether a character is invisible, controls how others are shown, or has no agreed meaning.

    These are control and format characters, default ignorable and blank ones, surrogates, private use, unassigned, and line
    and paragraph separators. White space other than those separators is not hidden.
    """
    if _is_within(_invisible, char):
        return True
    import unicodedata  # an ASCII text needs none of it

    match unicodedata.category(char):
        case "Cc":
            return char not in "\t\n\r"
        case "Cs" | "Co" | "Zl" | "Zp":
            return True
        case "Cf":
            return not _is_within(_visible_format, char)
        case "Cn":
            return not _is_within(_assigned_later, char)
    return False


@lru_cache(maxsize=4096)
def is_mark(char: str) -> bool:
    """Whether a character combines with the one before it."""
    import unicodedata

    return unicodedata.category(char)[0] == "M"


# --- joiners ------------------------------------------------------------------------------------------------

_JOINS_BOTH = (  # Joining_Type D
    "620 626 628 62A-62E 633-63F 641-647 649-64A 66E-66F 678-687 69A-6BF 6C1-6C2 6CC 6CE 6D0-6D1 6FA-6FC 6FF 712-714 "
    "71A-71D 71F-727 729 72B 72D-72E 74E-758 75C-76A 76D-770 772 775-777 77A-77F 7CA-7EA 841-845 848 84A-853 855 860 "
    "862-865 868 886 889-88D 88F 8A0-8A9 8AF-8B0 8B3-8B8 8BA-8C8 1807 1820-1878 1887-18A8 18AA A840-A871 10AC0-10AC4 "
    "10AD3-10AD6 10AD8-10ADC 10ADE-10AE0 10AEB-10AEE 10B80 10B82 10B86-10B88 10B8A-10B8B 10B8D 10B90 "
    "10BAD-10BAE 10D01-10D21 10D23 10EC3-10EC4 10EC6-10EC7 10F30-10F32 10F34-10F44 10F51-10F53 10F70-10F73 "
    "10F76-10F81 10FB0 10FB2-10FB3 10FB8 10FBB-10FBC 10FBE-10FBF 10FC1 10FC4 10FCA 1E900-1E943"
)
_JOINS_NEXT = "A872 10ACD 10AD7 10D00 10ED9-10EEE 10FCB"  # Joining_Type L
_JOINS_BEFORE = (  # Joining_Type R
    "622-625 627 629 62F-632 648 671-673 675-677 688-699 6C0 6C3-6CB 6CD 6CF 6D2-6D3 6D5 6EE-6EF 710 715-719 71E 728 "
    "72A 72C 72F 74D 759-75B 76B-76C 771 773-774 778-779 840 846-847 849 854 856-858 867 869-86A 870-882 88E 8AA-8AC "
    "8AE 8B1-8B2 8B9 10AC5 10AC7 10AC9-10ACA 10ACE-10AD2 10ADD 10AE1 10AE4 10AEF 10B81 10B83-10B85 10B89 10B8C "
    "10B8E-10B8F 10B91 10BA9-10BAC 10D22 10EC2 10F33 10F54 10F74-10F75 10FB4-10FB6 10FB9-10FBA 10FBD 10FC2-10FC3 10FC9"
)
_VIRAMA = (  # Canonical_Combining_Class 9
    "94D 9CD A4D ACD B4D BCD C4D CCD D3B-D3C D4D DCA E3A EBA F84 1039-103A 1714-1715 1734 17D2 1A60 1B44 1BAA-1BAB "
    "1BF2-1BF3 2D7F A806 A82C A8C4 A953 A9C0 AAF6 ABED 10A3F 11046 11070 1107F 110B9 11133-11134 111C0 11235 112EA "
    "1134D 113CE-113D0 11442 114C2 115BF 1163F 116B6 1172B 11839 1193D-1193E 119E0 11A34 11A47 11A99 11C3F 11D44-11D45 "
    "11D97 11F41-11F42 1612F"
)
_VOWEL_SIGNS = r"[\u064b-\u065f\u0670]"
"""Arabic marks that may be between a letter and a joiner."""


def describe_joiners() -> str:
    """The pattern of a joiner where the script requires it: one, between the characters that it separates or joins."""
    virama = _character_class(_VIRAMA)
    joins_next = _character_class(f"{_JOINS_BOTH} {_JOINS_NEXT}")
    joins_before = _character_class(f"{_JOINS_BOTH} {_JOINS_BEFORE}")
    return (
        rf"(?<=[{virama}])[{ZWNJ}{ZWJ}]"
        rf"|(?<=[\u09b0\u0cb0]){ZWJ}(?=[{virama}])"  # RA that keeps its form, Bengali and Kannada
        rf"|(?:(?<=[{joins_next}])|(?<=[{joins_next}]{_VOWEL_SIGNS})){ZWNJ}(?={_VOWEL_SIGNS}?[{joins_before}])"
    )


# --- emoji --------------------------------------------------------------------------------------------------

_STYLED = (  # the characters of emoji-variation-sequences.txt without the digits, which need a keycap
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 25C0 "
    "25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F 2638-263A 2640 2642 "
    "2648-2653 265F-2660 2663 2665-2666 2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB "
    "26B0-26B1 26BD-26BE 26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705 "
    "2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2764 2795-2797 "
    "27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F004 1F170-1F171 1F17E-1F17F 1F202 "
    "1F21A 1F22F 1F237 1F30D-1F30F 1F315 1F31C 1F321 1F324-1F32C 1F336 1F378 1F37D 1F393 1F396-1F397 1F399-1F39B "
    "1F39E-1F39F 1F3A7 1F3AC-1F3AE 1F3C2 1F3C4 1F3C6 1F3CA-1F3CE 1F3D4-1F3E0 1F3ED 1F3F3 1F3F5 1F3F7 1F408 1F415 "
    "1F41F 1F426 1F43F 1F441-1F442 1F446-1F449 1F44D-1F44E 1F453 1F46A 1F47D 1F4A3 1F4B0 1F4B3 1F4BB 1F4BF 1F4CB "
    "1F4DA 1F4DF 1F4E4-1F4E6 1F4EA-1F4ED 1F4F7 1F4F9-1F4FB 1F4FD 1F508 1F50D 1F512-1F513 1F549-1F54A 1F550-1F567 "
    "1F56F-1F570 1F573-1F579 1F587 1F58A-1F58D 1F590 1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 "
    "1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA 1F610 1F687 1F68D 1F691 1F694 1F698 1F6AD 1F6B2 1F6B9-1F6BA "
    "1F6BC 1F6CB 1F6CD-1F6CF 1F6E0-1F6E5 1F6E9 1F6F0 1F6F3"
)
_GENDERED = (
    "26F9 1F3C3-1F3C4 1F3CA-1F3CC 1F46E-1F46F 1F470-1F471 1F473 1F477 1F481-1F482 1F486-1F487 1F575 1F645-1F647 1F64B "
    "1F64D-1F64E 1F6A3 1F6B4-1F6B6 1F926 1F935 1F937-1F939 1F93C-1F93E 1F9B8-1F9B9 1F9CD-1F9CF 1F9D4 1F9D6-1F9DF"
)
_ROLES = (
    "2695-2696 2708 1F33E 1F373 1F37C 1F384 1F393 1F3A4 1F3A8 1F3EB 1F3ED 1F4BB-1F4BC 1F527 1F52C 1F680 1F692 1F9AF "
    "1F9BC-1F9BD 1FA70"
)
_TONE, _STYLE = "[\U0001f3fb-\U0001f3ff]?", f"{EMOJI_STYLE}?"
_ADULT = f"[\U0001f468\U0001f469\U0001f9d1]{_TONE}"
_RIGHTWARDS = f"(?:{ZWJ}\u27a1{_STYLE})?"
_SINGLE = "⛓+💥 ❤+🔥 ❤+🩹 🏳+⚧ 🏳+🌈 🏴+☠ 🐕+🦺 🐈+⬛ 🐦+⬛ 🐦+🔥 🐻+❄ 👁+🗨 😮+💨 😵+💫 😶+🌫 🍋+🟩 🍄+🟫 🙂+↔ 🙂+↕ 🧑+🐰+🧑 👯+♀ 👯+♂"
"""Sequences of two or more emoji, which `+` joins."""


def describe_emoji() -> str:
    """The pattern of an emoji with characters that are hidden in other places: the recommended sequences of UTS #51."""
    single = "|".join(sequence.replace("+", _STYLE + ZWJ) + _STYLE for sequence in _SINGLE.split())
    tag = {chr(code): chr(0xE0000 + code) for code in range(0x20, 0x7F)}
    regions = "|".join("".join(tag[char] for char in region) for region in ("gbeng", "gbsct", "gbwls"))
    return (
        rf"[0-9#*]{EMOJI_STYLE}\u20e3"  # keycap
        rf"|\U0001f3f4(?:{regions})\U000e007f"  # the flags of England, Scotland and Wales
        rf"|{_ADULT}{ZWJ}(?:\u2764{_STYLE}{ZWJ}(?:\U0001f48b{ZWJ})?|[\U0001f91d\U0001f430\U0001faef]{ZWJ}){_ADULT}"
        rf"|\U0001faf1{_TONE}{ZWJ}\U0001faf2{_TONE}"
        rf"|{_ADULT}(?:{ZWJ}{_ADULT})?(?:{ZWJ}[\U0001f466\U0001f467\U0001f9d2]){{1,2}}"
        rf"|{_ADULT}{ZWJ}(?:[{_character_class(_ROLES)}]{_STYLE}{_RIGHTWARDS}|[\U0001f9b0-\U0001f9b3])"
        rf"|[{_character_class(_GENDERED)}](?:{_TONE}|{EMOJI_STYLE}){ZWJ}[\u2640\u2642]{_STYLE}{_RIGHTWARDS}"
        rf"|[\U0001f3c3\U0001f6b6\U0001f9ce]{_TONE}{ZWJ}\u27a1{_STYLE}"
        rf"|{single}"
        rf"|[{_character_class(_STYLED)}][{TEXT_STYLE}{EMOJI_STYLE}]"
    )
