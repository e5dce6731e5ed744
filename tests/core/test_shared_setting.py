"""A setting of the process is given back by the last who wanted it."""

from __future__ import annotations

from threading import Barrier, Thread

from threadpoolctl import ThreadpoolController

from twofold._core.shared_setting import SharedSetting, one_blas_thread


def test_the_last_to_leave_gives_back_what_the_first_found():
    value, meeting = ["before"], Barrier(2)

    def change():
        before = value[0]
        value[0] = "changed"
        return lambda: value.__setitem__(0, before)

    setting = SharedSetting(change)

    def first() -> None:
        with setting:
            meeting.wait()  # both are inside
        meeting.wait()  # one has left

    thread = Thread(target=first)
    thread.start()
    with setting:
        meeting.wait()
        meeting.wait()
        assert value == ["changed"]
    thread.join()
    assert value == ["before"]


def blas_threads() -> list[int]:
    return [
        library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()
    ]


def test_blas_has_one_thread_inside_and_as_many_as_before_after():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread, one_blas_thread:
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
