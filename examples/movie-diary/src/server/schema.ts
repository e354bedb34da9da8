import { z } from 'zod';

/** As JSON Schema, which Fastify checks requests with and shows in the OpenAPI page. What is not named is refused. */
export function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-7', io: 'input', unrepresentable: 'throw' });
  return rest;
}
