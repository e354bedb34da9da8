import { DefaultLogger, Runtime, type RuntimeOptions } from '@temporalio/worker';
import type { Logger } from '../logger';
import { installWithMetrics } from '../telemetry/coreMetrics';

/**
 * What a handler's failure and a dead letter are to the SDK. Both stand in `deliveries`, and in lines of ours that name the
 * event; all else that it says of a delivery run, somebody must see.
 */
const SAID_BY_US: readonly string[] = ['Activity failed', 'Workflow failed'];

/**
 * The SDK's own log lines go through ours. Once per process, before anything connects.
 *
 * @param metrics the SDK's own are counted too, and stand among the worker's. Default false
 */
export function installRuntime(logger: Logger, { metrics = false }: { readonly metrics?: boolean } = {}): void {
  const options: RuntimeOptions = {
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      // Each worker's own queue carries activities only, which is meant.
      if (message.startsWith('No workflows registered')) return;
      const fields = { ...meta, sdk: true };
      const { workflowType } = fields as { workflowType?: unknown };
      if (workflowType === 'deliverEvent' && SAID_BY_US.includes(message)) return logger.debug(fields, message);
      if (level === 'ERROR') logger.error(fields, message);
      else logger.warn(fields, message);
    }),
    // Signals are ours to handle: the SDK's own handler would cancel nothing until the grace time is over.
    shutdownSignals: [],
  };
  if (metrics) installWithMetrics(options);
  else Runtime.install(options);
}
