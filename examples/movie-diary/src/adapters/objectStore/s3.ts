import { AwsClient } from 'aws4fetch';
import { createHash } from 'node:crypto';
import type { ObjectStore } from '../../ports/objectStore';
import { exchange, type Exchanged } from '../http/exchange';
import { checkKey, checkPrefix, isKey } from './key';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 20_000_000;
/** As many as S3 gives at most. */
const PAGE_SIZE = 1_000;

export interface S3Options {
  /** Scheme, host and port. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly region: string;
  /** Keys for one request of a list. */
  readonly pageSize?: number;
}

interface Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** Empty for the bucket itself. */
  readonly key?: string;
  readonly query?: Record<string, string>;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal | undefined;
}

/** A bucket of any service that speaks S3, addressed by path. */
export class S3ObjectStore implements ObjectStore {
  private readonly client: AwsClient;
  private readonly name: string;

  constructor(private readonly options: S3Options) {
    const { accessKeyId, secretAccessKey, region } = options;
    // Attempts are counted where they can be seen: by the handler that asked.
    this.client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 });
    this.name = `The object store ${new URL(options.endpoint).host}/${options.bucket}`;
  }

  async put(key: string, body: Uint8Array, contentType: string, signal?: AbortSignal): Promise<void> {
    checkKey(key);
    // The service compares it with what has arrived.
    const sha256 = createHash('sha256').update(body).digest('hex');
    const headers = { 'content-type': contentType, 'x-amz-content-sha256': sha256 };
    await this.expect([200], { method: 'PUT', key, headers, body, signal });
  }

  async get(key: string, signal?: AbortSignal): Promise<Buffer | undefined> {
    checkKey(key);
    const { status, body } = await this.expect([200, 404], { method: 'GET', key, signal });
    return status === 200 ? body : undefined;
  }

  async has(key: string, signal?: AbortSignal): Promise<boolean> {
    checkKey(key);
    if ((await this.expect([200, 404], { method: 'HEAD', key, signal })).status === 200) return true;
    // Such an answer has no body: it may as well mean the bucket, which would then look like one without objects.
    await this.expect([200], { method: 'HEAD', signal });
    return false;
  }

  async delete(key: string, signal?: AbortSignal): Promise<void> {
    checkKey(key);
    await this.expect([200, 204, 404], { method: 'DELETE', key, signal });
  }

  async list(prefix: string, signal?: AbortSignal): Promise<string[]> {
    checkPrefix(prefix);
    const keys: string[] = [];
    let marker = '';
    for (;;) {
      // The first version of the list: the second one's tokens are not to be had from every server.
      const query = { prefix, marker, 'max-keys': String(this.options.pageSize ?? PAGE_SIZE) };
      const answer = (await this.expect([200], { method: 'GET', query, signal })).body.toString('utf8');
      const page = [...answer.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => unescaped(key));
      // Others may use the bucket too; their keys are none of ours.
      keys.push(...page.filter(isKey));
      const last = page.at(-1);
      if (textOf(answer, 'IsTruncated') !== 'true' || last === undefined) return keys.sort();
      marker = last;
    }
  }

  private async expect(statuses: readonly number[], request: Request): Promise<Exchanged> {
    const answer = await this.send(request);
    // Never the rest of what it says: that may repeat what was signed.
    const code = answer.status < 400 ? undefined : textOf(answer.body.toString('utf8', 0, 2_000), 'Code');
    if (!statuses.includes(answer.status) || code === 'NoSuchBucket') throw this.refused(request, answer.status, code);
    return answer;
  }

  private send({ method, key = '', query, headers, body, signal }: Request): Promise<Exchanged> {
    const { endpoint, bucket } = this.options;
    const search = query ? `?${new URLSearchParams(query).toString()}` : '';
    const url = `${endpoint}/${bucket}${key && `/${key}`}${search}`;
    const bounds = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, signal };
    return exchange(
      this.name,
      (bounded) =>
        this.client.fetch(url, {
          method,
          redirect: 'error',
          signal: bounded,
          ...(headers && { headers }),
          ...(body && { body }),
        }),
      bounds,
    );
  }

  private refused({ method, key }: Request, status: number, code?: string): Error {
    const why = code ? ` (${code})` : '';
    return new Error(`${this.name} answered ${status}${why} to ${method}${key ? ` of ${key}` : ''}`);
  }
}

function textOf(xml: string, element: string): string | undefined {
  return new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(xml: string): string {
  return xml.replace(/&(\w+);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}
