import { openObjectStore } from '../src/adapters/objectStore/open';
import { placeOf } from '../src/adapters/objectStore/url';
import { readWorkerSettings } from '../src/settings';

describe('the setting OBJECT_STORE', () => {
  const env = { DATABASE_URL: 'postgres://x', DIARY_ORIGIN: 'http://x', METADATA_URL: 'http://x' };

  it.each([
    'file:///tmp/x',
    's3+http://k:s@localhost:9000/bucket',
    's3+https://k:s%2F+@s3.example.com/bucket/?region=eu-north-1',
  ])('may be %s', (OBJECT_STORE) =>
    expect(readWorkerSettings({ ...env, OBJECT_STORE }).objectStore).toBe(OBJECT_STORE),
  );

  it.each([
    'hunter2',
    'https://k:hunter2@host/bucket',
    's3+https://hunter2@host/bucket',
    's3+https://k:hunter2@host/',
    's3+ftp://k:hunter2@host/b',
    's3+https://k:hunter2@ho st/bucket',
  ])('may not be %s, which is not repeated', (OBJECT_STORE) => {
    const complaint = [() => readWorkerSettings({ ...env, OBJECT_STORE }), () => openObjectStore(OBJECT_STORE)].map(
      (read) => {
        try {
          return read();
        } catch (error) {
          return (error as Error).message;
        }
      },
    );
    expect(complaint).toEqual([
      expect.stringContaining('OBJECT_STORE: must be file:///'),
      expect.stringContaining('must be file:///'),
    ]);
    expect(JSON.stringify(complaint)).not.toContain('hunter2');
  });

  it('has a region, and a secret as it was before it went into a URL', () => {
    expect(placeOf('s3+https://k:s%2F%2B@s3.example.com/bucket?region=eu-north-1')).toEqual({
      bucket: {
        ...{ endpoint: 'https://s3.example.com', bucket: 'bucket', region: 'eu-north-1' },
        ...{ accessKeyId: 'k', secretAccessKey: 's/+' },
      },
    });
  });
});
