import math

import pytest

from bestbefore.policies.validation.machinery.ranges import check_range


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_both_ends_of_a_range_are_in_it(value: float) -> None:
    check_range("share", value, most=1.0)


def test_infinity_is_in_a_range_only_where_it_is_allowed() -> None:
    check_range("threshold", math.inf, infinite=True)
    with pytest.raises(ValueError, match="threshold must be a finite number of 0 or more, not inf"):
        check_range("threshold", math.inf)


@pytest.mark.parametrize("value", [-1.0, math.nan, -math.inf])
def test_what_is_below_a_range_or_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=f"window must be a number of 1 or more, or inf, not {value:g}"):
        check_range("window", value, least=1.0, infinite=True)
