import { createHash } from 'node:crypto';

/** The NOTIFY channel of a schema. Hashed, because a channel name is cut at 63 bytes as an identifier is. */
export function wakeChannel(schema: string): string {
  return `outbox_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`;
}
