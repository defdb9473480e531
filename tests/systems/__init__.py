"""Real systems that tests start, runs against them (`python -m tests.systems.real_runs`), and tests of both."""
