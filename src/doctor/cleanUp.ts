import { ScheduleNotFoundError } from '@temporalio/client';
import { readMaintenanceRuns } from '../temporal/maintenanceRuns';
import { fault, ok, warning, type Check } from './finding';

/** Without it tables and ledger grow, and nothing else tells before the disk is full. */
export const cleanUp: Check = {
  name: 'clean-up',
  look: async (patient) => {
    const { client } = await patient.temporal();
    const id = patient.config.maintenanceId;
    try {
      const { last, paused } = await readMaintenanceRuns(client, id);
      if (paused)
        return [
          warning(
            `The schedule ${id} is paused, so nothing removes old rows.`,
            `If nobody needs that any more, run: temporal schedule toggle --schedule-id ${id} --unpause --reason done`,
          ),
        ];
      if (last?.status === 'failed')
        return [
          warning(
            `The last run of ${id}, at ${last.at}, has failed.`,
            `Its page and the workers' logs say why. Once that is mended: temporal schedule trigger --schedule-id ${id}`,
          ),
        ];
      return [ok(`The schedule ${id} removes old rows; its last run began at ${last?.at ?? 'no time yet'}.`)];
    } catch (error) {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
      return [
        fault(
          `There is no schedule ${id}, so nothing removes old rows.`,
          'Start a worker, which makes it: outbox worker. By hand: outbox prune',
        ),
      ];
    }
  },
};
