const SEGMENT = '[A-Za-z0-9_-][A-Za-z0-9._-]*';
const KEY = new RegExp(`^${SEGMENT}(/${SEGMENT})*$`);
const PREFIX = new RegExp(`^(${SEGMENT}/)*(${SEGMENT})?$`);
const MAX_LENGTH = 512;

export function isKey(key: string): boolean {
  return KEY.test(key) && key.length <= MAX_LENGTH;
}

/** So narrow that no key leads out of a directory, or means something else in a URL. @throws Error */
export function checkKey(key: string): void {
  if (!isKey(key)) throw new Error(`${shown(key)} cannot be the key of an object`);
}

/** @throws Error */
export function checkPrefix(prefix: string): void {
  if (!PREFIX.test(prefix) || prefix.length > MAX_LENGTH) throw new Error(`No key begins with ${shown(prefix)}`);
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
