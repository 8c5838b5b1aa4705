"""How long answers of the model may be, for the calls and for the estimate of what they cost. Only numbers, because a scan should
not import what makes the calls.
"""

from __future__ import annotations

EXTRACTION_ANSWER = 16_384
"""Maximum length of an answer with facts in characters. A longer answer is not a list of facts. Nothing else limits their number."""
FACTS_BYTES = 20_000
"""Bytes of the new facts of one synthesis."""
FACT_OVERHEAD = 100
"""Bytes that a synthesis has for each fact besides its text: whether it corrects, its day, and how often it was said."""
HEARD_OVERHEAD = 50
"""Characters that a line of an extraction's answer has besides its fact: keys, the number, and a word of the message."""
