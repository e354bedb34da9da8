/**
 * Loaded into a process before everything else (`NODE_OPTIONS=--import`): kills it, hard, at one point of its work. Writes
 * down which ledger claims it asks for, and what it changes without being in the catalog. The package knows nothing of it.
 *
 * The point is read from `plan.json` in CRASH_DIRECTORY, so that it can be set while workers run:
 * `{ id, name, match, when, nth }`. Several processes may have the same plan; the first that gets there dies, alone.
 */
import { Buffer } from 'node:buffer';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import v8 from 'node:v8';
import { isMainThread } from 'node:worker_threads';
import { natsEffect, statementName, temporalEffect } from './effectNames.mjs';

const directory = process.env.CRASH_DIRECTORY;
const counts = new Map();

if (directory && isMainThread) {
  // Threads of the workflow sandbox get NODE_OPTIONS too, and have no part in this.
  withoutWorkflowThreads();
  const { names, writes } = JSON.parse(readFileSync(join(directory, 'catalog.json'), 'utf8'));
  const known = new Set(names);
  globalThis.crashPoint = (name, text, when = 'before') => {
    dieIf(reached(name, when, text));
  };
  await wrapStatements(known, new RegExp(writes, 'i'));
  await wrapMessages(known);
  await wrapReceipts();
  wrapCalls(known);
}

/**
 * As `test/support/workflowThreads.ts` does it for workers inside a test: the threads are a third of what a start costs,
 * and each kill costs a start. They would die with the process all the same.
 */
function withoutWorkflowThreads() {
  process.env.TEMPORAL_DEBUG = 'true';
  Object.assign(v8, { promiseHooks: { ...v8.promiseHooks, createHook: () => () => undefined } });
}

/** @returns the plan whose place this is; by the time of its death it may be gone from the file */
function reached(name, when, text) {
  const plan = readPlan();
  if (!plan || plan.name !== name || plan.when !== when || !new RegExp(plan.match ?? '').test(text)) return undefined;
  const count = (counts.get(plan.id) ?? 0) + 1;
  counts.set(plan.id, count);
  return count === (plan.nth ?? 1) ? plan : undefined;
}

function readPlan() {
  try {
    return JSON.parse(readFileSync(join(directory, 'plan.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Calls that fail before they are out, as if their server were away, while `refused` names them. */
function isRefused(effect) {
  try {
    return readFileSync(join(directory, 'refused'), 'utf8') === effect;
  } catch {
    return false;
  }
}

function die({ id }) {
  try {
    writeFileSync(join(directory, `killed-${id}.json`), JSON.stringify({ pid: process.pid, at: Date.now() }), {
      flag: 'wx',
    });
  } catch {
    return; // Another process was here first.
  }
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

function dieIf(plan) {
  if (plan) die(plan);
}

function note(file, line) {
  appendFileSync(join(directory, file), `${JSON.stringify({ ...line, pid: process.pid, at: Date.now() })}\n`);
}

/** An effect that no point stands for. */
function stranger(effect, text) {
  note('strangers', { effect, text: text.slice(0, 300) });
}

async function wrapStatements(known, writes) {
  const { Client } = (await import('pg')).default;
  const { query } = Client.prototype;
  Client.prototype.query = function (config, values, callback) {
    if (typeof config?.submit === 'function') return query.call(this, config, values, callback);
    const text = typeof config === 'string' ? config : config.text;
    const given = Array.isArray(values) ? values : (config.values ?? []);
    const name = statementName(text);
    if (name === 'claim ledger' || name === 'begin attempt')
      for (const key of keysOf(given)) note('journal', { kind: 'claiming', ...key });
    const effect = `sql ${name ?? 'of a handler'}`;
    // What handlers of these tests write is in a table of their own.
    if (name === undefined ? !/\beffects\b/.test(text) : !known.has(effect) && writes.test(text))
      stranger(effect, text);
    const said = JSON.stringify(given);
    dieIf(reached(effect, 'before', said));
    const plan = reached(effect, 'after', said);
    const answered = typeof values === 'function' ? values : callback;
    if (typeof answered === 'function') {
      const then = (error, result) => {
        if (!error) dieIf(plan);
        answered(error, result);
      };
      return typeof values === 'function' ? query.call(this, config, then) : query.call(this, config, values, then);
    }
    const result = query.call(this, config, values);
    return plan ? result.then((value) => (dieIf(plan), value)) : result;
  };
}

/** Of the two statements that claim the ledger: one for many, one for an attempt of a delivery run. */
function keysOf([events, handlers]) {
  return Array.isArray(events)
    ? events.map((eventId, index) => ({ eventId, handler: handlers[index] }))
    : [{ eventId: events, handler: handlers }];
}

/** All that leaves for NATS, requests too. */
async function wrapMessages(known) {
  const { ProtocolHandler } = await import('@nats-io/nats-core/internal');
  const { publish } = ProtocolHandler.prototype;
  ProtocolHandler.prototype.publish = function (subject, data, options) {
    const body = typeof data === 'string' ? data : Buffer.from(data ?? '').toString();
    const effect = natsEffect(subject, body, options?.headers, options?.reply);
    if (effect === undefined) return publish.call(this, subject, data, options);
    if (!known.has(effect)) stranger(effect, subject);
    const said = `${subject} ${body.slice(0, 200)}`;
    dieIf(reached(effect, 'before', said));
    const plan = reached(effect, 'after', said);
    const result = publish.call(this, subject, data, options);
    // It is buffered: it is out when a ping behind it is answered.
    const end = () => dieIf(plan);
    if (plan) this.flush().then(end, end);
    return result;
  };
}

/** A message of a stream as it arrives, and the end of a pull, whose subscription is drained. */
async function wrapReceipts() {
  const { NatsConnectionImpl } = await import('@nats-io/nats-core/internal');
  const { subscribe } = NatsConnectionImpl.prototype;
  NatsConnectionImpl.prototype.subscribe = function (subject, options = {}) {
    const { callback } = options;
    const taking = callback && {
      callback: (error, message) => {
        if (message?.reply?.startsWith('$JS.ACK.')) dieIf(reached('nats message', 'before', message.subject));
        callback(error, message);
      },
    };
    const subscription = subscribe.call(this, subject, { ...options, ...taking });
    const drain = subscription.drain.bind(subscription);
    subscription.drain = async () => {
      dieIf(reached('nats drain', 'before', subject));
      const plan = reached('nats drain', 'after', subject);
      await drain();
      dieIf(plan);
    };
    return subscription;
  };
}

/** All that the client of Temporal asks for; what a worker reports of its tasks goes another way, and is none of ours. */
function wrapCalls(known) {
  const require = createRequire(createRequire(import.meta.url).resolve('@temporalio/proto'));
  const { Service } = require('protobufjs').rpc;
  const { rpcCall } = Service.prototype;
  Service.prototype.rpcCall = function (method, requestType, responseType, request, callback) {
    const call = () => rpcCall.call(this, method, requestType, responseType, request, callback);
    const effect = temporalEffect(method.name, request);
    if (effect === undefined) return call();
    const payloads = (request.signalInput ?? request.request?.input?.args ?? request.input)?.payloads ?? [];
    const said = payloads.map(({ data }) => Buffer.from(data ?? '').toString()).join(' ');
    if (!known.has(effect)) stranger(effect, said);
    if (isRefused(effect)) return Promise.reject(new Error(`${effect} is refused for this test`));
    dieIf(reached(effect, 'before', said));
    const plan = reached(effect, 'after', said);
    const result = call();
    return plan ? result.then((value) => (dieIf(plan), value)) : result;
  };
}
