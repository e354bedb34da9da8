import { z } from 'zod';

/** As JSON Schema, which Fastify checks requests with and shows in the OpenAPI page. What is not named is refused. */
export function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: 'draft-7', io: 'input', unrepresentable: 'throw' });
  return rest;
}

const UP_TO_2147483647 =
  /^([1-9]\d{0,8}|1\d{9}|20\d{8}|21[0-3]\d{7}|214[0-6]\d{6}|2147[0-3]\d{5}|21474[0-7]\d{4}|214748[0-2]\d{3}|2147483[0-5]\d\d|21474836[0-3]\d|214748364[0-7])$/;

/* Numbers in a URL are text, and are checked as that. */
export const numberInPath = z.string().regex(UP_TO_2147483647).describe('a number from 1 to 2147483647');
export const yearInPath = z
  .string()
  .regex(/^(188[89]|189\d|19\d\d|[2-9]\d{3})$/)
  .describe('a year from 1888 to 9999');
export const limitInQuery = z
  .string()
  .regex(/^([1-9]\d?|100)$/)
  .describe('a number from 1 to 100');
