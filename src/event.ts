import type { EventDefinition } from './handlers/defineEvent';

/** JSON as PostgreSQL's `jsonb` holds it. */
export type Json = string | number | boolean | null | { readonly [key: string]: Json | undefined } | readonly Json[];

/** An event as an application writes it. */
export interface NewEvent {
  /** What happened, `[A-Za-z0-9_-]{1,128}`; the last part of the NATS subject. */
  readonly type: string;
  /** The kind of thing it happened to, `[A-Za-z0-9_-]{1,128}`; the middle part of the subject. */
  readonly aggregateType: string;
  /** Which one. Events of one aggregate arrive in the order they were written. Any text of up to 1,024 characters. */
  readonly aggregateId: string;
  /** The body, published digit for digit as PostgreSQL prints it. Anything that `JSON.stringify` takes. */
  readonly payload: unknown;
  /** A UUID. Default: a random one. Give your own where a repeated request must stay one event. */
  readonly eventId?: string;
  /** Version of the payload's shape. Default 1. */
  readonly version?: number;
  /** Tenant, a UUID. */
  readonly companyId?: string;
  /** Part of a tenant, a UUID. */
  readonly orgUnitId?: string;
  readonly correlationId?: string;
  readonly causationId?: string;
  /** Sent as NATS headers. The active trace context is added under `traceparent` unless given. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When it happened. Default: the database's clock. */
  readonly occurredAt?: Date;
  /** Not published before this time. Default: the database's clock, so at once. */
  readonly availableAt?: Date;
  /** What `definition.event(…)` puts here: the payload must then fit its schema. Not stored. */
  readonly definition?: EventDefinition;
}

/** An event as it is delivered, from the outbox or from a stream; the body is not parsed yet. */
export interface EventRecord {
  readonly eventId: string;
  readonly eventType: string;
  readonly aggregateType: string;
  readonly aggregateId: string;
  readonly companyId: string | null;
  readonly orgUnitId: string | null;
  /** `payload::text`: published as it is, so that no digit changes. */
  readonly payload: string;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly version: number;
  readonly correlationId: string | null;
  readonly causationId: string | null;
  /** ISO 8601 in UTC with microseconds, as the database printed it. */
  readonly occurredAt: string;
  /** When it was due, alike, of an event that was scheduled; of others that is when it occurred. */
  readonly availableAt?: string | null;
}

/** A claimed row: what the worker holds while it publishes. Never leaves the worker but to the broker. */
export interface ClaimedEvent extends EventRecord {
  readonly id: string;
  readonly deferrals: number;
  /** Why it was deferred last; rows with the same reason are freed together when one of them goes out. */
  readonly failureReason: string | null;
}

/** NATS servers take 1 MiB by default, headers included; 16 KiB are kept for those. */
export const DEFAULT_MAX_PAYLOAD_BYTES = 1024 * 1024 - 16 * 1024;

/** Types, aggregate types and header names: what becomes a token of a subject or the name of a header line. */
export const NAME = /^[A-Za-z0-9_-]{1,128}$/;

/** A header name becomes a line of a NATS message; these prefixes carry the record itself, or steer the broker. */
export const RESERVED_HEADER = /^(nats-|outbox-)/i;

/** Made from the event wherever it is published; an application's own `ce-…` extension attributes are not. */
export const DERIVED_HEADER =
  /^ce-(specversion|id|source|type|time|subject|datacontenttype|partitionkey|correlationid|causationid|traceparent|tracestate)$/i;

/** As PostgreSQL takes one; other spellings that it takes too (braces, no dashes) would be other texts for one id. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
