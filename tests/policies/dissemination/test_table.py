from bestbefore.policies.dissemination.table import SCHEDULERS


def test_each_scheduler_is_listed_by_its_name():
    assert {name: scheduler.name for name, scheduler in SCHEDULERS.items()} == {name: name for name in SCHEDULERS}
