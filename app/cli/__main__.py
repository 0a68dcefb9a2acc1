"""`python -P -m app.cli`: the same command line, for parents that start themselves apart."""

from __future__ import annotations

from app.cli.main import main

if __name__ == "__main__":
    main()
