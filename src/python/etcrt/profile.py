"""What a launch did when."""

import ctypes

from ._library import Handle, ProfileInfo, call, sized


class Profile:
    """Of one launch: docs/profiler.md says what is in it."""

    def __init__(self, instance: ctypes.c_void_p, stream: int):
        self._handle = Handle("etc_profile_free")
        call("etc_instance_profile", instance, stream, ctypes.byref(self._handle.pointer))
        self._info = sized(ProfileInfo)
        call("etc_profile_describe", self._handle.pointer, ctypes.byref(self._info))

    def summary(self) -> str:
        """As `etc run --profile` prints it."""
        return self._info.summary.decode()

    def lost(self) -> int:
        """Spans for which there was no room."""
        return self._info.lost

    def json(self) -> str:
        """For Perfetto and chrome://tracing."""
        text = ctypes.c_char_p()
        call("etc_profile_json", self._handle.pointer, ctypes.byref(text))
        return (text.value or b"").decode()
