"""A setting of the process is given back by the last who wanted it."""

from __future__ import annotations

from threading import Barrier, Thread

from twofold._core.shared_setting import SharedSetting


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
