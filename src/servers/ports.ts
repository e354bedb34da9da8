import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { ServerError } from './serverError';

/** Where `npm start` puts the servers: beside their usual ports, so that one's own servers are not in the way. */
export const PREFERRED_PORTS = Object.freeze({ postgres: 5442, nats: 4232, temporal: 7243, temporalUi: 8243 });

export type Ports = { [which in 'postgres' | 'nats' | 'temporal' | 'temporalUi']?: number | undefined };

export const PORT_VARIABLES = Object.freeze({
  postgres: 'OUTBOX_POSTGRES_PORT',
  nats: 'OUTBOX_NATS_PORT',
  temporal: 'OUTBOX_TEMPORAL_PORT',
  temporalUi: 'OUTBOX_TEMPORAL_UI_PORT',
} satisfies Record<keyof Ports, string>);

/** The preferred ports, each replaced by its variable where that is set. */
export function portsFromEnvironment(env: NodeJS.ProcessEnv = process.env): Record<keyof Ports, number> {
  const ports: Record<keyof Ports, number> = { ...PREFERRED_PORTS };
  for (const which of Object.keys(PORT_VARIABLES) as (keyof Ports)[]) {
    const text = env[PORT_VARIABLES[which]];
    if (!text) continue;
    const port = Number(text);
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new ServerError(`${PORT_VARIABLES[which]} must be a port from 1 to 65535, not "${text}".`);
    }
    ports[which] = port;
  }
  return ports;
}

/**
 * A port that is free now, from below the ranges that systems give to outgoing connections: between a kill and the
 * restart on the same port nobody's client connection can take it by chance.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(12_000, 32_000);
    if (await isFree(port)) return port;
  }
  throw new ServerError('No free port was found on 127.0.0.1: end some of the programs that listen there.');
}

/** @throws ServerError that names the port and the variable that moves it */
export async function requireFree(port: number, name: string, which: keyof Ports): Promise<void> {
  if (await isFree(port)) return;
  throw new ServerError(
    `Port ${port}, meant for ${name}, is taken by another program: end that program, or set ${PORT_VARIABLES[which]} to a free port.`,
  );
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
