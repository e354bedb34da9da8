import { z } from 'zod';

/** As JSON Schema, which Fastify checks requests with and shows in the OpenAPI page. What is not named is refused. */
export function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-7', io: 'input', unrepresentable: 'throw' });
  return rest;
}

/* Numbers in a URL are text, and are checked as that. */
export const numberInPath = z
  .string()
  .regex(/^[1-9]\d{0,8}$/)
  .describe('a number from 1 to 999999999');
export const yearInPath = z
  .string()
  .regex(/^(188[89]|189\d|19\d\d|[2-9]\d{3})$/)
  .describe('a year from 1888 to 9999');
export const limitInQuery = z
  .string()
  .regex(/^([1-9]\d?|100)$/)
  .describe('a number from 1 to 100');
