import { temporal } from '@temporalio/proto';
import { fault, ok, warning, type Check, type Found } from './finding';

const { TASK_QUEUE_TYPE_WORKFLOW } = temporal.api.enums.v1.TaskQueueType;

const HANDLERS = `/* outbox: count handlers */ SELECT count(*)::integer AS count FROM :schema.outbox_installation, jsonb_object_keys(handler_events)`;

/** Temporal remembers who polled a queue within the last minutes. */
export const workers: Check = {
  name: 'workers',
  look: async (patient) => {
    const { config, db } = patient;
    const { client, namespace } = await patient.temporal();
    const pollers = async (name: string) => {
      const { pollers: found } = await client.workflowService.describeTaskQueue({
        namespace,
        taskQueue: { name },
        taskQueueType: TASK_QUEUE_TYPE_WORKFLOW,
      });
      return new Set((found ?? []).map(({ identity }) => identity)).size;
    };
    const count = await pollers(config.taskQueue);
    if (count === 0) {
      return [
        fault(
          `No worker polls the task queue ${config.taskQueue}, so nothing is published and nothing is handled.`,
          'Start one: outbox worker (OUTBOX_TASK_QUEUE must be that of the workers)',
        ),
      ];
    }
    const found: Found[] = [
      count === 1
        ? warning('One worker polls: while it is away nothing is published.', 'Run a second one: outbox worker')
        : ok(`${count} workers poll the task queue ${config.taskQueue}.`),
    ];
    const handlers = (await db.query<{ count: number }>(HANDLERS)).rows[0]?.count ?? 0;
    if (handlers > 0 && (await pollers(config.deliveryTaskQueue)) === 0) {
      found.push(
        fault(
          `${handlers} handlers are recorded, and no worker polls ${config.deliveryTaskQueue}: what has failed is not tried again.`,
          'Start a worker with the handlers: outbox worker --handlers <module>. Of handlers that are no more: outbox forget <handler> --yes',
        ),
      );
    }
    return found;
  },
};
