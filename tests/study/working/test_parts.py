import pytest
from simkit.study.told.described import describe
from simkit.study.working.parts import Part

from simkit.errors import BadInput
from simkit.study import runs
from simkit.study.compare import compare


def bits(table):
    return table.drop_columns(list(runs.MEASURED)).to_pylist()


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


def test_parts_share_the_work_and_the_last_one_writes_the_tables(tiny, tmp_path):
    whole = compare(tiny(), out=tmp_path / "whole", workers=1)
    out = tmp_path / "parts"
    first = compare(tiny(), out=out, workers=1, part="2/2")
    assert first.left == 2 and first.table["draw"].to_pylist() == [1]
    assert sorted(path.name for path in out.iterdir()) == ["bundles", "plan.json"]
    assert describe(out)["unfinished"] == "1 of 3 bundles"
    last = compare(tiny(), out=out, workers=1, part="1/2")
    assert last.left == 0 and bits(last.table) == bits(whole.table)
    assert (out / "table.parquet").is_file() and not (out / "plan.json").exists()
    again = compare(tiny(), out=out, workers=1, part="2/2")
    assert bits(again.table) == bits(whole.table)


def test_what_is_damaged_is_left_to_do(tiny, tmp_path):
    whole = compare(tiny(), out=tmp_path / "whole", workers=1)
    out = tmp_path / "parts"
    compare(tiny(), out=out, workers=1, part="1/2")
    file = next((out / "bundles").glob("*.arrows"))
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.warns(UserWarning, match="damaged"):
        last = compare(tiny(), out=out, workers=1, part="2/2")
    assert last.left == 1 and not (out / "table.parquet").exists()
    with pytest.warns(UserWarning, match="damaged"):
        again = compare(tiny(), out=out, workers=1, part="1/2")
    assert again.left == 0 and bits(again.table) == bits(whole.table)


def test_a_call_without_parts_finishes_what_they_left(tiny, tmp_path):
    compare(tiny(), out=tmp_path / "out", workers=1, part="3/3")
    seen = []
    found = compare(tiny(), out=tmp_path / "out", workers=1, progress=lambda *at: seen.append(at))
    assert seen[0] == (1, 3) and found.left == 0 and len(found.table) == 3


def test_a_part_of_nothing_is_no_error(tiny, tmp_path):
    assert compare(tiny(), out=tmp_path / "out", workers=1, part="4/4").left == 3
    with pytest.raises(BadInput, match=r"^part is '5/4'; I/N with I from 1 to N is expected, "):
        compare(tiny(), out=tmp_path / "none", part="5/4")
    assert not (tmp_path / "none").exists()
