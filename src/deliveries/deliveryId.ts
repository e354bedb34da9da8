import { DEFAULT_SCHEMA } from '../postgres/schemaName';

/** Workflow id of an event's delivery run. */
export function deliveryWorkflowId(schema: string, eventId: string): string {
  return schema === DEFAULT_SCHEMA ? `deliver/${eventId}` : `deliver/${schema}/${eventId}`;
}
