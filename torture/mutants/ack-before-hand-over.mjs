/** A message is acknowledged as soon as it is there: what its worker had not handled when it died, nobody has. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { mutated } from './rewrite.mjs';

if (isMainThread) {
  const require = createRequire(join(process.env.TORTURE_ROOT, 'dist', 'index.js'));
  const { InHand } = require('./consumer/inHand.js');
  const { add } = InHand.prototype;
  InHand.prototype.add = function (message) {
    this.acks.ack(message.reply);
    mutated('an acknowledgement');
    return add.call(this, message);
  };
}
