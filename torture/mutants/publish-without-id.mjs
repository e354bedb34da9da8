/** Nothing tells the broker that two messages are one event, nor a consumer which event it is. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { mutated } from './rewrite.mjs';

if (isMainThread) {
  const require = createRequire(join(process.env.TORTURE_ROOT, 'dist', 'index.js'));
  const headers = require('./broker/headers.js');
  const { headersOf } = headers;
  headers.headersOf = (...given) => {
    const made = headersOf(...given);
    made.delete('Nats-Msg-Id');
    mutated('the headers of a message');
    return made;
  };
}
