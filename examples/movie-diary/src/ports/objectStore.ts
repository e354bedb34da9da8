/**
 * Whole objects by key. A key is segments of `A-Z a-z 0-9 . _ -` with `/` between them, none beginning with a dot, 512
 * characters at most; none is the folder of another. Anything else is refused before the store is touched.
 */
export interface ObjectStore {
  /** All or nothing, also when the process dies in the middle; what was there before is replaced. */
  put(key: string, body: Uint8Array, contentType: string, signal?: AbortSignal): Promise<void>;
  get(key: string, signal?: AbortSignal): Promise<Buffer | undefined>;
  has(key: string, signal?: AbortSignal): Promise<boolean>;
  /** One that is not there counts as deleted. */
  delete(key: string, signal?: AbortSignal): Promise<void>;
  /** All keys that begin with it, in their order; what was put or deleted before is seen. */
  list(prefix: string, signal?: AbortSignal): Promise<string[]>;
}
