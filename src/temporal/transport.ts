/** gRPC codes that a server gives while it starts, stops, is overloaded or cut off; others do not pass by waiting. */
const PASSING = new Set([1, 2, 4, 8, 10, 13, 14]);

/** The connection failed, not the worker: connecting again may help. */
export function isTransport(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // The worker's own ServiceError has the code itself, the client's in its cause.
  const { code, cause } = error as Error & { code?: number; cause?: { code?: number } };
  if (error.name === 'ServiceError') return PASSING.has(code ?? cause?.code ?? 2);
  return ['TransportError', 'UnexpectedError'].includes(error.name);
}
