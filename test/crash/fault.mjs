/**
 * Loaded into a worker's process before everything else (`NODE_OPTIONS=--import`): kills it, hard, at one exact place of
 * its work, and writes down which ledger claims it asks for. The worker's own code knows nothing of it.
 *
 * The place is read from `plan.json` in CRASH_DIRECTORY, so that it can be set while workers run:
 * `{ id, kind, match, when, nth }`. Several workers may have the same plan; the first that gets there dies, alone.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const directory = process.env.CRASH_DIRECTORY;
const counts = new Map();
const CLAIMS = /INTO \S+processed_events \(event_id, handler, status, lease_until\)/;

if (directory && isMainThread) {
  // Threads of the workflow sandbox get NODE_OPTIONS too, and have no part in this.
  await wrapStatements();
  await wrapPublishes();
  await wrapReceipts();
  await wrapStarts();
  globalThis.crashPoint = (kind, text) => {
    if (reached(kind, 'before', text)) die();
  };
}

/** @returns whether this is the place */
function reached(kind, when, text) {
  const plan = readPlan();
  if (!plan || plan.kind !== kind || plan.when !== when || !new RegExp(plan.match).test(text)) return false;
  const count = (counts.get(plan.id) ?? 0) + 1;
  counts.set(plan.id, count);
  return count === (plan.nth ?? 1);
}

function readPlan() {
  try {
    return JSON.parse(readFileSync(join(directory, 'plan.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

function die() {
  const { id } = readPlan();
  try {
    writeFileSync(join(directory, `killed-${id}.json`), JSON.stringify({ pid: process.pid, at: Date.now() }), {
      flag: 'wx',
    });
  } catch {
    return; // Another worker was here first.
  }
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}

function note(line) {
  appendFileSync(join(directory, 'journal'), `${JSON.stringify({ ...line, pid: process.pid, at: Date.now() })}\n`);
}

async function wrapStatements() {
  const { Client } = (await import('pg')).default;
  const { query } = Client.prototype;
  Client.prototype.query = function (config, values, callback) {
    if (typeof config?.submit === 'function') return query.call(this, config, values, callback);
    const text = typeof config === 'string' ? config : config.text;
    const given = Array.isArray(values) ? values : (config.values ?? []);
    const claims = CLAIMS.test(text);
    if (claims) for (const key of keysOf(given)) note({ kind: 'claiming', ...key });
    const said = `${text} ${JSON.stringify(given)}`;
    if (reached('sql', 'before', said)) die();
    const dies = reached('sql', 'after', said);
    const answered = typeof values === 'function' ? values : callback;
    if (typeof answered === 'function') {
      const then = (error, result) => {
        if (dies && !error) die();
        answered(error, result);
      };
      return typeof values === 'function' ? query.call(this, config, then) : query.call(this, config, values, then);
    }
    const result = query.call(this, config, values);
    return dies ? result.then((value) => (die(), value)) : result;
  };
}

/** Of the two statements that claim the ledger: one for many, one for an attempt of a delivery run. */
function keysOf([events, handlers]) {
  return Array.isArray(events)
    ? events.map((eventId, index) => ({ eventId, handler: handlers[index] }))
    : [{ eventId: events, handler: handlers }];
}

async function wrapPublishes() {
  const { NatsConnectionImpl } = await import('@nats-io/nats-core/internal');
  const { publish } = NatsConnectionImpl.prototype;
  NatsConnectionImpl.prototype.publish = function (subject, data, options) {
    const said = `${subject} ${typeof data === 'string' ? data.slice(0, 200) : ''}`;
    if (reached('publish', 'before', said)) die();
    const dies = reached('publish', 'after', said);
    const result = publish.call(this, subject, data, options);
    // A publish is buffered: it is out when a ping behind it is answered.
    if (dies) this.rtt().then(die, die);
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
        if (message?.reply?.startsWith('$JS.ACK.') && reached('message', 'before', message.subject)) die();
        callback(error, message);
      },
    };
    const subscription = subscribe.call(this, subject, { ...options, ...taking });
    const drain = subscription.drain.bind(subscription);
    subscription.drain = async () => {
      if (reached('drain', 'before', subject)) die();
      const dies = reached('drain', 'after', subject);
      await drain();
      if (dies) die();
    };
    return subscription;
  };
}

async function wrapStarts() {
  const { WorkflowClient } = await import('@temporalio/client');
  const { signalWithStart } = WorkflowClient.prototype;
  WorkflowClient.prototype.signalWithStart = async function (type, options) {
    const said = `${type} ${JSON.stringify(options.signalArgs ?? null)}`;
    if (reached('start', 'before', said)) die();
    const dies = reached('start', 'after', said);
    const result = await signalWithStart.call(this, type, options);
    if (dies) die();
    return result;
  };
}
