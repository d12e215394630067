"""The browsers of Personal Agents: which are joined to a Session, and which were."""
