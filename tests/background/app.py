"""The Celery app of the tests' workers, and of whoever enqueues for them."""

from __future__ import annotations

from celery import Celery
from kombu import Queue

FOLDER = "POPPY_WORKER_FOLDER"
BROKER = "POPPY_WORKER_BROKER"
QUEUE = "POPPY_WORKER_QUEUE"
DATABASE = "POPPY_WORKER_DATABASE"


def celery_app(broker: str, queue: str) -> Celery:
    """Make an app with a queue of its own."""
    app = Celery("poppy_tests", broker=broker, set_as_current=False)
    app.conf.update(
        task_default_queue=queue,
        # RabbitMQ forgets the queue of a run that nobody cleaned up after.
        task_queues=[Queue(queue, expires=600)],
        broker_connection_retry_on_startup=True,
        worker_prefetch_multiplier=1,
    )
    if broker.startswith("redis"):
        # Redis cannot see that a worker died: its messages come again after this time.
        app.conf.broker_transport_options = {
            "visibility_timeout": 3,
            # By default it looks for them once in a hundred seconds.
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            "global_keyprefix": queue,
        }
    return app
