import { rmSync } from 'node:fs';

export default async function globalTeardown(): Promise<void> {
  await globalThis.outboxTestServers?.stop();
  if (globalThis.outboxTestServers) rmSync(globalThis.outboxTestServers.directory, { recursive: true, force: true });
}
