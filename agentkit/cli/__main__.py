"""`python -m agentkit.cli` is `agentkit`."""

from agentkit.cli.edge import main

if __name__ == "__main__":
    main()
