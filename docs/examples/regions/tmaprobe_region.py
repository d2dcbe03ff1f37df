"""Regions of tmaprobe in Python; libtmaprobe_region.so lies beside this file (region_library.c).

    with region("parse"):
        ...

In a conftest.py, `from tmaprobe_region import each_test_is_a_region` makes a region of each test, those of
pytest-benchmark included. Measure with: tmaprobe --regions -- python3 -m pytest
"""
import contextlib
import ctypes
import pathlib

_library = ctypes.CDLL(str(pathlib.Path(__file__).with_name("libtmaprobe_region.so")))
_library.tmaprobe_begin.argtypes = [ctypes.c_char_p]
_library.tmaprobe_end.argtypes = [ctypes.c_char_p, ctypes.c_ulonglong, ctypes.c_ulonglong]


@contextlib.contextmanager
def region(name, iterations=0, bytes=0):
    text = name.encode()
    _library.tmaprobe_begin(text)
    try:
        yield
    finally:
        _library.tmaprobe_end(text, iterations, bytes)


try:
    import pytest
except ImportError:
    pass
else:
    @pytest.fixture(autouse=True)
    def each_test_is_a_region(request):
        with region(request.node.name):
            yield
