import { z } from 'zod';

/** Fields that events and HTTP bodies share. */
export const id = z.uuid();
export const version = z.int().positive();
export const date = z.iso.date();
export const uri = z.url({ protocol: /^https?$/ }).max(2_000);
export const rating = z.int().min(1).max(10);
export const comment = z.string().max(5_000).nullable();
export const year = z.int().min(1888).max(9999);
/** The metadata provider's number of a film: the same film has the same on every instance. */
export const filmNumber = z.int().positive().max(2_147_483_647);
export const filmTitle = z.string().min(1).max(500);
export const userName = z.string().regex(/^[a-z0-9_]{1,32}$/, 'may hold a-z, 0-9 and _, 1 to 32 of them');
