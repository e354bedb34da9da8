import type { Activity } from '../../domain/activity';
import type { Inboxes, SigningKey } from '../../ports/inboxes';
import { sign } from './signature';

/** Well below the time-out of the handler, so that the outcome is known and written within it. */
const TIMEOUT_MS = 10_000;
/**
 * Refusals that may be over later. 401 is one of them: the inbox could not get at our key, because this instance's server
 * is down, or at the right time, because a clock is wrong.
 */
const PASSING = new Set([401, 408, 421, 425, 429]);

/** Not over `exchange`, which reads the answer: here it counts as soon as its status is known, whatever its body does. */
export class HttpInboxes implements Inboxes {
  async post(
    inbox: string,
    activity: Activity,
    key: SigningKey,
    signal?: AbortSignal,
  ): Promise<'delivered' | 'refused'> {
    const body = JSON.stringify(activity);
    const request = { method: 'POST', url: inbox, headers: { 'content-type': 'application/activity+json' }, body };
    const headers = await sign(request, key);
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const { host } = new URL(inbox);
    const answer = await fetch(inbox, {
      method: 'POST',
      headers,
      body,
      // The signature is for this address and no other.
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    }).catch((cause: unknown) => {
      throw new Error(`${host} did not answer`, { cause });
    });
    // What it says is of no use; unread, it would hold the connection. That it breaks off changes nothing about the answer:
    // as an error it would have an activity that was taken sent again.
    await answer.body?.cancel().catch(() => undefined);
    if (answer.ok) return 'delivered';
    if (answer.status < 500 && !PASSING.has(answer.status)) return 'refused';
    throw new Error(`${host} answered ${answer.status} to an activity`);
  }
}
