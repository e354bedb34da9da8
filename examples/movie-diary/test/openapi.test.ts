import { buildServer, type ServerDeps } from '../src/server/app';
import { TestDiary } from './support/diary';
import { example, exampleObject, nonsenseFor, ODD, type Schema } from './support/nonsense';

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly schema: Schema;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

const JSON_TYPE = 'application/json';
/** Of a byte sequence that UTF-8 does not have, after a start that JSON has. */
const NO_UTF8 = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);

describe('the OpenAPI document and the requests that it allows', () => {
  let diary: TestDiary;
  let operations: Operation[];

  beforeAll(async () => {
    diary = await TestDiary.create();
    await diary.user('u1');
    const { paths } = await diary.request<{ paths: Record<string, Record<string, Operation>> }>('GET', '/docs/json');
    operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
    );
  });
  afterAll(() => diary.close());

  async function send({ method }: Operation, url: string, type?: string, body?: string | Buffer): Promise<Answer> {
    const answer = await fetch(`${diary.origin}${url}`, {
      method,
      ...(type !== undefined && { headers: { 'content-type': type } }),
      ...(body !== undefined && method !== 'GET' && { body }),
    });
    return { status: answer.status, text: await answer.text() };
  }

  /** Where all is well, except what is given. */
  function urlOf({ path, parameters = [] }: Operation, given: Record<string, string> = {}): string {
    const value = ({ name, schema }: Parameter) => given[name] ?? encodeURIComponent(String(example(name, schema)));
    const query = parameters.filter((parameter) => parameter.in === 'query');
    const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => {
      const parameter = parameters.find((one) => one.in === 'path' && one.name === name);
      if (!parameter) throw new Error(`${path} does not describe ${name}`);
      return value(parameter);
    });
    return query.length === 0 ? filled : `${filled}?${query.map((one) => `${one.name}=${value(one)}`).join('&')}`;
  }

  const withJson = () =>
    operations.flatMap((operation) => {
      const schema = operation.requestBody?.content[JSON_TYPE]?.schema;
      return schema ? [{ operation, schema }] : [];
    });

  /** A sentence for the caller, which names the field. */
  function expectRefused(what: string, { status, text }: Answer, field: string): void {
    const { error } = JSON.parse(text) as { error?: string };
    expect({ what, status, named: error?.includes(field), error }).toEqual({ what, status: 400, named: true, error });
  }

  it('lists every route, and describes each parameter and each body', async () => {
    const app = await buildServer({ origin: 'http://localhost' } as ServerDeps);
    const own = routesOf(app.printRoutes({ commonPrefix: false })).filter((route) => !/ (\/docs|\*)/.test(route));
    await app.close();
    expect(own.length).toBeGreaterThan(20);
    expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(own.sort());
    for (const operation of operations) {
      expect(urlOf(operation)).not.toContain('{');
      const takesBody = ['PUT', 'PATCH'].includes(operation.method) && !/follows\/|wrap-ups/.test(operation.path);
      if (takesBody) expect(Object.keys(operation.requestBody?.content ?? {})).not.toEqual([]);
    }
  });

  it('a body with a value that its field does not take is refused by a sentence that names the field', async () => {
    const fields = withJson().flatMap(({ operation, schema }) =>
      fieldsOf(schema).map((field) => ({ operation, schema, field })),
    );
    expect(fields.length).toBeGreaterThan(10);
    for (const { operation, schema, field } of fields) {
      const url = urlOf(operation);
      for (const value of nonsenseFor(field.valid)) {
        const body = JSON.stringify(replaced(exampleObject(schema), field.path, value));
        const what = `${operation.method} ${url} ${body.slice(0, 200)}`;
        expectRefused(what, await send(operation, url, JSON_TYPE, body), field.path.join('.'));
      }
      for (const value of ODD) {
        const body = JSON.stringify(replaced(exampleObject(schema), field.path, value));
        const { status, text } = await send(operation, url, JSON_TYPE, body);
        expect({ body, text, broken: status >= 500 }).toEqual({ body, text, broken: false });
      }
    }
  });

  it('a field that is unknown, or missing though required, is refused by its name', async () => {
    for (const { operation, schema } of withJson()) {
      const url = urlOf(operation);
      const valid = exampleObject(schema);
      const surprise = JSON.stringify({ ...valid, surprise: 1 });
      expectRefused(`${url} ${surprise}`, await send(operation, url, JSON_TYPE, surprise), 'surprise');
      for (const name of schema.required ?? []) {
        const { [name]: _left, ...rest } = valid;
        const body = JSON.stringify(rest);
        expectRefused(`${url} ${body}`, await send(operation, url, JSON_TYPE, body), name);
      }
    }
  });

  it('a body that is none is refused, whatever the route, and none ends in a failure', async () => {
    for (const operation of operations.filter(({ method }) => method !== 'GET')) {
      const url = urlOf(operation);
      const bodies: [string | undefined, string | Buffer | undefined][] = [
        [undefined, undefined],
        ...['', '{"a":', 'null', '[]', '7', '"x"', NO_UTF8].map((body): [string, string | Buffer] => [JSON_TYPE, body]),
        [JSON_TYPE, '{"__proto__":{"a":1}}'],
        [JSON_TYPE, `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
        [JSON_TYPE, `"${'x'.repeat(2 * 1024 * 1024)}"`],
        ['text/plain', 'x'],
        ['application/xml', '<x/>'],
        ['nonsense', 'x'],
      ];
      for (const [type, body] of bodies) {
        const { status, text } = await send(operation, url, type, body);
        const what = `${operation.method} ${url} ${type} ${String(body).slice(0, 60)}`;
        expect({ what, text, broken: status >= 500 }).toEqual({ what, text, broken: false });
        if (operation.requestBody)
          expect({ what, refused: [400, 413, 415].includes(status) }).toEqual({ what, refused: true });
        if (status >= 400) expect(JSON.parse(text)).toEqual({ error: expect.any(String) as string });
      }
    }
  });

  it('a URL with a value that its parameter does not take is refused, and none ends in a failure', async () => {
    const NONSENSE = ['%00', 'a%00b', '%ED%A0%80', '%ZZ', '😀', '..', '%2F', '-1', '1e3', "'", 'x'.repeat(90), '%20'];
    for (const operation of operations) {
      const body = exampleObject(operation.requestBody?.content[JSON_TYPE]?.schema ?? {});
      const type = operation.requestBody ? JSON_TYPE : undefined;
      for (const { name } of operation.parameters ?? []) {
        for (const value of NONSENSE) {
          const url = urlOf(operation, { [name]: value });
          const { status, text } = await send(operation, url, type, type && JSON.stringify(body));
          const what = `${operation.method} ${url}`;
          expect({ what, text, broken: status >= 500 }).toEqual({ what, text, broken: false });
          if (value.includes('%00')) expect({ what, refused: status >= 400 }).toEqual({ what, refused: true });
        }
      }
    }
  });
});

/** From the tree that Fastify prints, four characters to a level. */
function routesOf(tree: string): string[] {
  const above: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', segment = '', methods = ''] = /^(.*?── )(\S*)(?: \(([^)]+)\))?$/.exec(line) ?? [];
    if (!indent) return [];
    const depth = indent.length / 4;
    above.splice(depth - 1, Infinity, segment);
    const path = above.join('').replace(/:(\w+)/g, '{$1}');
    const shown = methods.split(', ').filter((method) => method !== '' && method !== 'HEAD');
    return shown.map((method) => `${method} ${path}`);
  });
}

interface Field {
  readonly path: readonly string[];
  readonly valid: unknown;
}

/** Nested ones too. */
function fieldsOf(schema: Schema, above: readonly string[] = []): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, one]) => {
    const path = [...above, name];
    return [{ path, valid: example(name, one) }, ...fieldsOf(one, path)];
  });
}

function replaced(object: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): object {
  const inner = rest.length === 0 ? value : replaced(object[name] as Record<string, unknown>, rest, value);
  return { ...object, [name]: inner };
}
