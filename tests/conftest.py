"""What every test shares: the plugins of the house."""

pytest_plugins = [
    "contract_report",
    "fixtures.database",
    "fixtures.stack",
    "fixtures.valkey",
    "long_tests",
    "skips",
]
