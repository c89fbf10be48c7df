"""All operations of the service, in the order of the OpenAPI document."""

from clasher.server.operations import Operation
from clasher.server.routes import labels, lessons, models, predictions, status

OPERATIONS: tuple[Operation, ...] = (
    predictions.predict,
    predictions.explain,
    predictions.annif_project,
    predictions.annif_suggest,
    lessons.learn,
    lessons.feedback,
    lessons.undo,
    lessons.teach,
    lessons.renew,
    lessons.release,
    labels.labels,
    labels.names,
    labels.label,
    labels.change_label,
    status.about,
    status.metrics,
    status.history,
    status.recent,
    status.document,
    status.alarms,
    status.events,
    status.prometheus,
    status.healthz,
    status.readyz,
    models.log,
    models.download_model,
    models.replace_model,
)
