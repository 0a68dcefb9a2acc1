"""What goes wrong with a coding agent and its model, as facts."""

from __future__ import annotations

from app.domain.errors import ProviderError, SetupError


class AgentMissing(SetupError):
    """This host does not have the agent that the work asks for."""

    code = "agent_missing"
    hint = "install it where the workers run; docs/agents.md says how"


class AgentUnfit(SetupError):
    """The agent is there, and is not one that this Fencepost can drive."""

    code = "agent_unfit"
    hint = "install a version that was tested; docs/agents.md lists them"


class AgentKeyMissing(SetupError):
    """The worker was given no key for the agent's model."""

    code = "agent_key_missing"


class ModelUnavailable(ProviderError):
    """The model did not answer, or stopped in the middle; another try may find it better."""

    code = "model_unavailable"


class ModelLimited(ProviderError):
    """The model's provider takes no more requests for now."""

    code = "model_limited"
