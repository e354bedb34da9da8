import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import S3rver from 's3rver';

/** A store to be opened by its URL. */
export interface RunningStore {
  readonly url: string;
  close(): Promise<void>;
}

export async function directoryStore(): Promise<RunningStore> {
  const directory = await temporary();
  return { url: pathToFileURL(directory).href, close: () => rm(directory, { recursive: true }) };
}

/** The only key that the server knows; of a signature it checks the key, and not the secret behind it. */
const KEY = 'S3RVER';

export async function s3Store(): Promise<RunningStore> {
  const directory = await temporary();
  const server = new S3rver({
    ...{ port: 0, address: '127.0.0.1', directory, silent: true, vhostBuckets: false },
    configureBuckets: [{ name: 'diary' }],
  });
  const { port } = await server.run();
  return {
    url: `s3+http://${KEY}:${KEY}@127.0.0.1:${port}/diary`,
    close: async () => {
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}

function temporary(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'diary-objects-'));
}
