import { fileURLToPath } from 'node:url';
import type { S3Options } from './s3';

export const OBJECT_STORE_FORM =
  'must be file:///directory or s3+https://<key>:<secret>@<host>/<bucket>, perhaps with ?region=<region>';

export type Place = { readonly directory: string } | { readonly bucket: S3Options };

/** Never tells what is wrong with a URL: it holds a secret, and parts of it could be in that. */
export function placeOf(url: string): Place | undefined {
  try {
    if (url.startsWith('file:')) return { directory: fileURLToPath(url) };
    const { protocol, host, username, password, pathname, searchParams } = new URL(url.replace(/^s3\+(?=https?:)/, ''));
    const bucket = /^\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/?$/.exec(pathname)?.[1];
    if (!url.startsWith('s3+') || bucket === undefined || !username || !password) return undefined;
    return {
      bucket: {
        ...{ endpoint: `${protocol}//${host}`, bucket },
        accessKeyId: decodeURIComponent(username),
        secretAccessKey: decodeURIComponent(password),
        region: searchParams.get('region') ?? 'us-east-1',
      },
    };
  } catch {
    return undefined;
  }
}

export function isObjectStoreUrl(url: string): boolean {
  return placeOf(url) !== undefined;
}
