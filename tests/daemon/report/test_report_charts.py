"""Charts: well-formed SVG for any values and any labels."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_examples import examples
from tacitd.report.charts import HEIGHT, LABELS, choose_labels, describe_series, draw_series, format_value
from tacitd.report.sections import ReportSeries

VALUES = st.floats(allow_nan=True, allow_infinity=True) | st.integers(-5, 10**18)
LABEL = st.text(alphabet="ab<>&\"'-2026", max_size=8)


@examples(90)
@given(st.lists(st.tuples(LABEL, VALUES), max_size=40), st.sampled_from(["bars", "points"]))
def test_any_series_is_drawn_within_the_chart(points: list[tuple[str, float]], form: str) -> None:
    """Well-formed, nothing outside, one mark for each value, and the largest is the highest."""
    svg = draw_series(ReportSeries("Title", tuple(points), form="bars" if form == "bars" else "points"))
    root = ElementTree.fromstring(svg)
    clean = [value if math.isfinite(value) and 0 <= value < 1e15 else 0 for _, value in points]
    marks = root.findall("circle") if form == "points" else root.findall("rect")
    assert len(marks) == (len(points) if form == "points" else sum(value > 0 for value in clean))
    tops = [float(mark.attrib["cy" if form == "points" else "y"]) for mark in marks]
    assert all(0 <= top <= HEIGHT for top in tops)
    for name in ("x", "x1", "x2", "cx"):
        places = [one.attrib[name] for one in root.iter() if name in one.attrib]
        assert all(0 <= float(place.rstrip("%")) <= 100 for place in places)
    values = [value for value in clean if form == "points" or value > 0]
    if values:
        assert tops[values.index(max(values))] == min(tops)


@examples(60)
@given(st.integers(0, 500))
def test_few_labels_are_shown(count: int) -> None:
    """At most LABELS, so that they do not overlap on a narrow screen."""
    shown = choose_labels(count)
    assert len(shown) <= LABELS and shown == sorted(set(shown)) and all(n < count for n in shown)
    assert bool(shown) == bool(count)


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(3, "", "3"), (3.26, "", "3.3"), (1234, "", "1,234"), (0.416, "$", "$0.42")]
)
def test_values_are_written_for_people(value: float, unit: str, text: str) -> None:
    """Whole numbers without a point, dollars with cents."""
    assert format_value(value, unit) == text


def test_a_chart_is_described_in_words() -> None:
    """For those who do not see it."""
    series = ReportSeries("Lines", (("a", 1), ("b", 3)))
    assert describe_series(series) == "Lines: 4 in all, the most in b (3)"
    assert describe_series(ReportSeries("Lines", (("a", 0),))) == "Lines: nothing"
