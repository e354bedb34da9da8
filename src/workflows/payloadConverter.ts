import { DefaultPayloadConverter, type Payload } from '@temporalio/common';

/**
 * What the workflow reads. A signal that cannot be decoded (another client's codec, bytes that are no JSON) would
 * otherwise fail the workflow task at every retry, and stop the relay until somebody resets it (C26). It becomes a value
 * that no message accepts: not `undefined`, which for `reemitAll` would mean all of them.
 */
class ReadsAnything extends DefaultPayloadConverter {
  override fromPayload<T>(payload: Payload): T {
    try {
      return super.fromPayload<T>(payload);
    } catch {
      return { unreadable: true } as T;
    }
  }
}

export const payloadConverter = new ReadsAnything();
