"""What every test shares: the plugins of the house."""

pytest_plugins = ["contract_report", "long_tests", "skips"]
