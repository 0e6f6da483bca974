"""REST endpoints of integrations; humans only."""

from typing import Any

from app.core.errors import Conflict, InvalidField, NotFound
from app.http.current import current_settings
from app.integrations import service
from app.integrations.models import Integration
from app.integrations.schemas import (
    IntegrationCreate,
    IntegrationOut,
    IntegrationPatch,
    IntegrationWithSecretOut,
    SecretRotation,
)
from app.integrations.service import OpenedIntegration
from app.rest.fields import PageQuery
from app.rest.routing import NO_CONTENT, Answer, Api, Call, created

api = Api("integrations")

INTEGRATION = "/integrations/<integration_id>"


def _shown(integration: Integration) -> dict[str, Any]:
    return service.described(integration, current_settings().base_url)


def _opened(opened: OpenedIntegration) -> dict[str, Any]:
    return {**_shown(opened.integration), "secret": opened.secret}


@api.route(
    "GET",
    "/integrations",
    "integrations.list",
    calls=service.list_integrations,
    query=PageQuery,
    returns=IntegrationOut,
    paginated=True,
    leads_to=("integrations.get",),
)
def list_integrations(call: Call) -> Answer:
    """List all integrations, newest first; secrets are never shown."""
    base_url = current_settings().base_url
    return Answer(service.list_integrations(call.actor, base_url=base_url, **call.query).collection)


@api.route(
    "POST",
    "/integrations",
    "integrations.create",
    calls=service.create_integration,
    body=IntegrationCreate,
    returns=IntegrationWithSecretOut,
    status=201,
    idempotent=True,
    leads_to=("integrations.get", "integrations.update", "integrations.rotate_secret"),
    errors=(InvalidField, Conflict),
)
def create_integration(call: Call) -> Answer:
    """Connect a code host, with a bot of its own; the secret is shown in this response only."""
    opened = service.create_integration(call.actor, **call.body, settings=current_settings())
    return created(_opened(opened), f"/integrations/{opened.integration.id}")


@api.route(
    "GET",
    INTEGRATION,
    "integrations.get",
    calls=service.get_integration,
    returns=IntegrationOut,
    errors=(NotFound,),
)
def get_integration(call: Call) -> Answer:
    """Fetch one integration, without its secret."""
    return Answer(_shown(service.get_integration(call.actor, call.path["integration_id"])))


@api.route(
    "PATCH",
    INTEGRATION,
    "integrations.update",
    calls=service.update_integration,
    body=IntegrationPatch,
    returns=IntegrationOut,
    errors=(InvalidField, NotFound),
)
def update_integration(call: Call) -> Answer:
    """Change an integration, and the projects that its bot may change."""
    path = call.path["integration_id"]
    return Answer(_shown(service.update_integration(call.actor, path, **call.body)))


@api.route(
    "POST",
    f"{INTEGRATION}/secret",
    "integrations.rotate_secret",
    calls=service.rotate_secret,
    body=SecretRotation,
    returns=IntegrationWithSecretOut,
    errors=(InvalidField, NotFound),
)
def rotate_secret(call: Call) -> Answer:
    """Replace the secret at once; the new one is shown in this response only."""
    path = call.path["integration_id"]
    return Answer(_opened(service.rotate_secret(call.actor, path, **call.body)))


@api.route(
    "DELETE",
    INTEGRATION,
    "integrations.delete",
    calls=service.delete_integration,
    status=204,
    errors=(NotFound,),
)
def delete_integration(call: Call) -> Answer:
    """Delete an integration and deactivate its bot; links stay."""
    service.delete_integration(call.actor, call.path["integration_id"])
    return NO_CONTENT
