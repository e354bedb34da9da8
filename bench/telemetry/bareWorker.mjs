/* What Temporal's SDK alone holds in memory: one worker with the built workflows and one activity, and nothing to do. */
import { NativeConnection, Worker } from '@temporalio/worker';

const connection = await NativeConnection.connect({ address: process.env.TEMPORAL_ADDRESS });
const worker = await Worker.create({
  connection,
  taskQueue: 'bare',
  workflowBundle: { codePath: process.env.BENCH_BUNDLE },
  activities: { nothing: () => undefined },
});
const running = worker.run();
process.send('ready');
process.on('SIGTERM', () => worker.shutdown());
await running;
await connection.close();
process.exit();
