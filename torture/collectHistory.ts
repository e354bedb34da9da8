import { join } from 'node:path';
import { connect } from 'nats';
import { Client } from 'pg';
import type { History } from './checker/history';
import { readJournals } from './checker/readJournals';
import { readStream } from './checker/readStream';
import { readTables } from './checker/readTables';
import { openRuns } from './openRuns';
import type { World } from './world/world';

/** Everything that the storm has left, once its workers have ended. */
export async function collectHistory(world: World): Promise<History> {
  const { diary, servers, config, options, timings } = world;
  const client = new Client({ connectionString: servers.url('postgres') });
  await client.connect();
  const tables = await readTables(client, config.schema).finally(() => client.end());
  const journals = readJournals(join(world.directory, 'journal'));
  return {
    rules: { backend: options.backend, ...timings },
    ...tables,
    ...(await streamOf(world)),
    ...journals,
    standstills: [...journals.standstills, ...diary.freezes],
    runs: await openRuns(world),
    deaths: diary.deaths,
    names: diary.names,
    outages: diary.outages,
  };
}

async function streamOf({ options, servers, config }: World): Promise<Pick<History, 'stream' | 'unacknowledged'>> {
  if (options.backend === 'db') return { stream: [], unacknowledged: 0 };
  const connection = await connect({ servers: servers.url('nats') });
  try {
    return await readStream(connection, config.nats);
  } finally {
    await connection.close();
  }
}
