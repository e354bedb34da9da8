import { v5 } from 'uuid';
import { NAMESPACE } from './film';

/** Names what stands between two, for the order of its events; two URIs together are too long for that. */
export function relationId(one: string, other: string): string {
  return v5(`relation ${one} ${other}`, NAMESPACE);
}
