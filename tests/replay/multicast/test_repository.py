import numpy as np

from bestbefore.replay.multicast.repository import LARGE, MEDIUM, SITES, SMALL, Repository


def test_the_base_repository_has_the_numbers_of_table_1() -> None:
    repository = Repository.of(np.random.default_rng(1), SMALL, MEDIUM, LARGE)
    assert (repository.sites, repository.chunks) == (SITES, 85_680)
    assert [len(sites) for sites in repository.by_size] == [16_800, 3_360, 840]


def test_the_chunks_of_all_sites_are_all_chunks_once(small_repository: Repository) -> None:
    assert small_repository.chunks_of(np.arange(9)) == list(range(17))
    [large] = small_repository.by_size[2]
    assert len(small_repository.chunks_of(np.array([large]))) == 5


def test_sites_are_in_any_order() -> None:
    sizes = np.diff(Repository.of(np.random.default_rng(1), (500, 1), (500, 4)).first_chunk)
    assert 200 < (sizes[:500] == 1).sum() < 300
