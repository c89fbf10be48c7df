"""All operations of the service, in the order of the OpenAPI document."""

from clasher.server.operations import Operation
from clasher.server.routes import labels, lessons, models, predictions, status

OPERATIONS: tuple[Operation, ...] = tuple(
    one
    for module in (predictions, lessons, labels, status, models)
    for one in vars(module).values()
    if isinstance(one, Operation)
)
