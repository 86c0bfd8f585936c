from rboost import native


def test_the_native_core_is_there():
    """Where it is not, the other tests would test the reference against itself."""
    assert native.compiled() is not None, (
        "install a C++ compiler and reinstall rboost to run the tests"
    )
