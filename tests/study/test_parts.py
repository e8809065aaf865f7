import pytest

from simkit.errors import BadInput
from simkit.study.parts import Part


@pytest.mark.parametrize("of", [1, 3, 16, 40])
def test_the_parts_have_each_job_once_and_about_the_same_work(of):
    jobs = [(name, 1 + name % 7) for name in range(37)]
    shares = [Part(number, of).share(jobs, lambda job: job[1]) for number in range(1, of + 1)]
    assert sorted(job for share in shares for job in share) == jobs
    assert all(share == sorted(share) for share in shares)
    loads = [sum(work for _, work in share) for share in shares]
    assert max(loads) - min(loads) <= 7  # never more than one job apart


def test_a_part_is_read_as_it_is_written():
    assert Part.read("3/16") == Part(3, 16) and str(Part(3, 16)) == "3/16"


@pytest.mark.parametrize("text", ["0/4", "5/4", "1/0", "-1/4", "3", "a/b", "1/2/3", "1.5/4", ""])
def test_a_part_that_is_none_is_refused(text):
    with pytest.raises(BadInput) as caught:
        Part.read(text)
    assert str(caught.value) == (
        f"part is {text!r}; I/N with I from 1 to N is expected, such as 1/16 for the first of "
        "sixteen"
    )
