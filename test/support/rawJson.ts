import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface WithRawJson {
  rawJSON?: (text: string) => object;
  isRawJSON?: (value: unknown) => boolean;
}

/**
 * The platform's own `JSON.rawJSON`. Node has it from version 21 on; before, it is behind a flag that contexts obey which
 * are made after it was set. Its companion goes where the sources look for it.
 */
export const rawJson = ((): ((text: string) => object) => {
  const here = JSON as WithRawJson;
  if (!here.rawJSON) {
    setFlagsFromString('--harmony-json-parse-with-source');
    Object.assign(JSON, runInNewContext('({ rawJSON: JSON.rawJSON, isRawJSON: JSON.isRawJSON })'));
  }
  if (!here.rawJSON) throw new Error('this Node has no JSON.rawJSON, not even behind its flag');
  return here.rawJSON;
})();
