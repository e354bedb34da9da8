import { NAME } from '../event';
import { AGE_WANTED, ageText, readAge } from './age';

/** Ages in milliseconds by event type; null: for ever. */
export type Overrides = Readonly<Record<string, number | null>>;

/**
 * Reads `OrderPlaced=90d,Clicked=12h,ContractSigned=never`.
 *
 * @returns every problem beside what could be read
 */
export function readOverrides(text: string): { overrides: Overrides; problems: string[] } {
  const overrides: Record<string, number | null> = {};
  const problems: string[] = [];
  const parts = text.split(',').map((part) => part.trim());
  for (const part of parts.filter(Boolean)) {
    const [type = '', age = '', ...rest] = part.split('=').map((side) => side.trim());
    const ms = age === 'never' ? null : readAge(age);
    if (!NAME.test(type) || rest.length > 0) {
      problems.push(`${JSON.stringify(part.slice(0, 150))} is not <event type>=<age>, such as OrderPlaced=90d`);
    } else if (ms === undefined) {
      problems.push(`the age of ${type} must be never, or ${AGE_WANTED}, not ${JSON.stringify(age.slice(0, 50))}`);
    } else if (Object.hasOwn(overrides, type)) problems.push(`${type} stands in it twice`);
    else overrides[type] = ms;
  }
  return { overrides, problems };
}

/** As it is written in the setting. */
export function overridesText(overrides: Overrides): string {
  return Object.entries(overrides)
    .map(([type, ms]) => `${type}=${ms === null ? 'never' : ageText(ms)}`)
    .join(',');
}
