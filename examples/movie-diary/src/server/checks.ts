import type { FastifySchemaValidationError } from 'fastify';

interface Formats {
  addFormat(name: string, check: (text: string) => boolean): unknown;
}

function addHttpUrl<Ajv extends Formats>(ajv: Ajv): Ajv {
  ajv.addFormat('http-url', (text) => URL.canParse(text));
  return ajv;
}

/** How requests are checked against their schemas. */
export const CHECKS = {
  customOptions: {
    // A field that the schema does not know is a mistake of the caller's: refused, not dropped in silence.
    removeAdditional: false,
    coerceTypes: false as const,
    // With the schema at hand, its description tells what is allowed; a pattern says nothing to most readers.
    verbose: true,
  },
  plugins: [addHttpUrl],
};

const PARTS: Record<string, string> = { params: 'path', querystring: 'query' };

interface Flaw extends FastifySchemaValidationError {
  readonly parentSchema?: { readonly description?: string };
}

/** Names the field and what it may hold, never what it held. */
export function sentence([flaw]: readonly Flaw[], context: string): Error {
  const part = PARTS[context] ?? context;
  if (!flaw) return new Error(`The ${part} is not as it must be`);
  const { instancePath, keyword, params, parentSchema, message } = flaw;
  const path = instancePath.slice(1).replaceAll('/', '.');
  const inside = (name: unknown) => (path ? `${path}.${shortened(String(name))}` : shortened(String(name)));
  if (keyword === 'required') return new Error(`The field ${inside(params.missingProperty)} of the ${part} is missing`);
  if (keyword === 'additionalProperties')
    return new Error(`The field ${inside(params.additionalProperty)} of the ${part} is not known`);
  const subject = path ? `The field ${path} of the ${part}` : `The ${part}`;
  const rule = parentSchema?.description === undefined ? message : `must be ${parentSchema.description}`;
  return new Error(`${subject} ${rule ?? 'is not as it must be'}`);
}

function shortened(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}
