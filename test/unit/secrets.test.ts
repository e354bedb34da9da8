import fc from 'fast-check';
import { maskedTemporal } from '../../src/cli/secrets';
import { maskUrl } from '../../src/mask';

/** Marked, so that a trace of it can be found in whatever is shown. */
const secret = fc.stringMatching(/^[A-Za-z0-9,/?#@:%&=!~-]{1,20}$/).map((text) => `S3CRET${text}S3CRET`);

test('a password in a URL is never shown, not even one that nobody encoded', () => {
  fc.assert(
    fc.property(secret, fc.constantFrom('postgres', 'postgresql', 'nats', 'tls', 'wss'), (password, scheme) => {
      expect(maskUrl(`${scheme}://user:${password}@host.example:4222/db`)).not.toContain('S3CRET');
      expect(maskUrl(`${scheme}://user:${encodeURIComponent(password)}@host.example/db`)).not.toContain('S3CRET');
      expect(maskUrl(`user:${password}@host.example:4222`)).not.toContain('S3CRET');
    }),
  );
});

test('a password or token in the query string is never shown', () => {
  fc.assert(
    fc.property(
      secret,
      fc.constantFrom('password', 'sslpassword', 'token', 'api_key', 'client_secret'),
      (text, name) => {
        const url = `postgres://host.example/db?application_name=x&${name}=${encodeURIComponent(text)}&sslmode=require`;
        const shown = maskUrl(url);
        expect(shown).not.toContain('S3CRET');
        expect(shown).toContain('sslmode=require');
      },
    ),
  );
});

test.each([
  ['postgres://app:secret@db.example:5432/app', 'postgres://app:***@db.example:5432/app'],
  ['postgres://app@db.example/app', 'postgres://app@db.example/app'],
  ['nats://token@a.example:4222', 'nats://***@a.example:4222'],
  ['nats://u:p@a.example:4222,nats://u:p@b.example:4222', 'nats://u:***@a.example:4222,nats://u:***@b.example:4222'],
  ['nats://a.example:4222,nats://b.example:4222', 'nats://a.example:4222,nats://b.example:4222'],
  ['postgres://app:12,34@db.example/app', '***'],
  ['host=db password=secret', '***'],
])('%s is shown as %s', (url, shown) => {
  expect(maskUrl(url)).toBe(shown);
});

test.each([
  ['TEMPORAL_API_KEY', 'abc', '***'],
  ['TEMPORAL_TLS_CLIENT_KEY_DATA', '-----BEGIN', '***'],
  ['TEMPORAL_GRPC_META_AUTHORIZATION', 'Bearer abc', '***'],
  ['TEMPORAL_SOMETHING_NEW', 'abc', '***'],
  ['TEMPORAL_TLS_CLIENT_KEY_PATH', '/etc/key.pem', '/etc/key.pem'],
  ['TEMPORAL_PROFILE', 'staging', 'staging'],
])('%s=%s is shown as %s', (variable, value, shown) => {
  expect(maskedTemporal(variable, value)).toBe(shown);
});
