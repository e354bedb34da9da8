/**
 * When a call to Temporal is over that may take so long, as its clients want it: by this host's clock, of which gRPC sends
 * the server only what is left.
 */
export function deadlineIn(ms: number): number {
  // eslint-disable-next-line no-restricted-syntax -- made and judged by the same clock, in this process
  return Date.now() + ms;
}
