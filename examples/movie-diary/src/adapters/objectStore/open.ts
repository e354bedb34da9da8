import type { ObjectStore } from '../../ports/objectStore';
import { FileSystemObjectStore } from './fileSystem';
import { S3ObjectStore } from './s3';
import { OBJECT_STORE_FORM, placeOf } from './url';

/** Reaches for nothing yet. @throws Error when the URL names no store */
export function openObjectStore(url: string): ObjectStore {
  const place = placeOf(url);
  if (!place) throw new Error(`The URL of the object store ${OBJECT_STORE_FORM}`);
  return 'directory' in place ? new FileSystemObjectStore(place.directory) : new S3ObjectStore(place.bucket);
}
