import pytest

from bestbefore.replay.papers.table import PAPERS, writer_of


@pytest.mark.parametrize("name", PAPERS)
def test_each_paper_has_a_function_that_writes_it(name: str) -> None:
    assert callable(writer_of(name))


def test_an_unknown_paper_is_refused_with_the_nearest_known() -> None:
    with pytest.raises(ValueError, match=r"^unknown paper 'Adaptve', did you mean 'adaptive'\? \(known: adaptive"):
        writer_of("Adaptve")
    with pytest.raises(ValueError, match=r"^unknown paper '77' \(known: adaptive"):
        writer_of("77")
