const NAMESPACE = process.env.TEMPORAL_NAMESPACE ?? 'default';

/** The relay's page in Temporal's UI. */
export function relayPage(uiUrl: string): string {
  return page(uiUrl, '/outbox-relay');
}

/** The list of all delivery runs: one for each event that has failed in a handler. */
export function deliveryRunsPage(uiUrl: string): string {
  return page(uiUrl, `?query=${encodeURIComponent('WorkflowType="deliverEvent"')}`);
}

function page(uiUrl: string, rest: string): string {
  return `${uiUrl}/namespaces/${NAMESPACE}/workflows${rest}`;
}
