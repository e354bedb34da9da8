import { context, propagation, ROOT_CONTEXT, type Context, type TextMapGetter } from '@opentelemetry/api';

/** Headers as an event holds them; a foreign writer's may be any JSON. */
type Headers = Readonly<Record<string, unknown>> | null;

/** What the application's propagator writes of the active context; empty without an SDK. Never throws. */
export function activeHeaders(): Readonly<Record<string, unknown>> {
  const headers: Record<string, unknown> = {};
  try {
    propagation.inject(context.active(), headers);
  } catch {
    // A propagator of the application's own: an event is worth more than its trace.
  }
  return headers;
}

/**
 * The context that an event was enqueued in; the root one without headers, without an SDK, and where they are unusable.
 * Nothing of the ambient context is in it: many events share the activity that handles them. Never throws.
 */
export function contextOf(headers: Headers): Context {
  if (headers === null) return ROOT_CONTEXT;
  try {
    return propagation.extract(ROOT_CONTEXT, headers, GETTER);
  } catch {
    return ROOT_CONTEXT;
  }
}

/** In any case: Go's `http.Header`, over which its propagators write, makes `Traceparent` of it. */
const GETTER: TextMapGetter<Readonly<Record<string, unknown>>> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, wanted) => {
    const value = headers[wanted] ?? headers[keyOf(headers, wanted) ?? ''];
    return typeof value === 'string' ? value : undefined;
  },
};

function keyOf(headers: object, wanted: string): string | undefined {
  return Object.keys(headers).find((key) => key.toLowerCase() === wanted);
}
