/** A part of a request as its JSON Schema in the OpenAPI document has it. */
export interface Schema {
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** A value that each field takes, by its name: what is nonsense in a request is then one field alone. */
const EXAMPLES: Readonly<Record<string, unknown>> = {
  actor: 'https://elsewhere.example/users/u',
  comment: 'Fine',
  displayName: 'U',
  eventId: 'e1',
  id: '5d9f1f9e-2b53-4f0c-9a35-0d2f4c0f7a11',
  importId: '5d9f1f9e-2b53-4f0c-9a35-0d2f4c0f7a12',
  limit: '5',
  name: 'nobody',
  q: 'third man',
  rating: 7,
  rel: 'self',
  resource: 'acct:u1@elsewhere.example',
  review: 'https://elsewhere.example/reviews/1',
  reviewId: '5d9f1f9e-2b53-4f0c-9a35-0d2f4c0f7a13',
  source: 'jellyfin',
  target: 'https://elsewhere.example/users/u',
  title: 'The Third Man',
  user: 'u1',
  watchedAt: '2024-02-01T20:15:00+01:00',
  watchedOn: '2024-02-01',
  year: '2024',
};

/** @throws Error for a field that has no example yet */
export function example(name: string, schema: Schema): unknown {
  if (schema.properties) return exampleObject(schema);
  // In a path it is text, in a body a number.
  if (name === 'number') return schema.type === 'string' ? '7' : 7;
  if (!(name in EXAMPLES)) throw new Error(`A new field: give ${name} an example`);
  return EXAMPLES[name];
}

export function exampleObject({ properties = {} }: Schema): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, example(name, schema)]));
}

/** What no text field takes. */
const NO_TEXT: readonly unknown[] = [17, true, {}, [], ['x'], 'x'.repeat(200_000), 'a\u0000b', 'a\ud800b', '\udc00'];
const NO_NUMBER: readonly unknown[] = ['7', '', null, true, {}, [7], 0, -1, 1.5, 1e300, 2_147_483_648];
const NO_DAY: readonly unknown[] = [
  '2024-02-30',
  '2023-02-29',
  '0000-01-01',
  '2024-13-01',
  '20240201',
  'yesterday',
  '',
];
const NO_TIME: readonly unknown[] = [
  '2024-02-30T10:00:00Z',
  '2024-02-01T25:00:00Z',
  '2024-02-01T10:00:00',
  '2024-02-01',
];
const NO_UUID: readonly unknown[] = [
  '5',
  '',
  '5d9f1f9e-2b53-4f0c-9a35-0d2f4c0f7a1',
  '5D9F1F9E-2B53-4F0C-9A35-0D2F4C0F7A11',
];
const NO_URL: readonly unknown[] = [
  '',
  'nowhere',
  'javascript:alert(1)',
  'http://',
  'http://a:99999/',
  'http://1.2.3.999/',
  'https://a b/',
  `https://a.example/${'x'.repeat(1_000)}`,
];

/** Values that a field must not take, told from one that it does. */
export function nonsenseFor(valid: unknown): readonly unknown[] {
  if (typeof valid === 'number') return NO_NUMBER;
  if (typeof valid !== 'string') return [null, 'x', 7, []];
  if (/^\d{4}-\d{2}-\d{2}$/.test(valid)) return [...NO_TEXT, ...NO_DAY];
  if (/^\d{4}-\d{2}-\d{2}T/.test(valid)) return [...NO_TEXT, ...NO_TIME];
  if (/^[0-9a-f]{8}-/.test(valid)) return [...NO_TEXT, ...NO_UUID];
  if (valid.startsWith('https://')) return [...NO_TEXT, ...NO_URL];
  return NO_TEXT;
}

/** Values that are odd and may be taken: whatever the answer, nothing must break. */
export const ODD: readonly unknown[] = ['', ' ', '\n', '😀'.repeat(300), 'e\u0301', "'; --", '%00', null, '\u202e'];
