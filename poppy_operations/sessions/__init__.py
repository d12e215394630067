"""Who asks: Sessions of Personal Agents, verified, and the allow-list of agents."""
