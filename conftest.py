"""The test plugins that hold for every test of this repository."""

pytest_plugins = [
    "tests.plugins.garbage",
    "tests.plugins.nursery",
    "tests.plugins.order",
    "tests.plugins.parser",
    "tests.plugins.profile",
    "tests.plugins.shell",
    "tests.plugins.serving",
    "tests.plugins.sockets",
]
