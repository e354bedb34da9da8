import Table from 'cli-table3';
import type { Figures } from './figures';
import { round } from './numbers';
import { isMet, TARGETS, valueOf } from './targets';

/** The table for people: each figure beside its target. */
export function tableOf(figures: Figures): string {
  const table = new Table({
    head: ['figure', 'measured', 'target', ''],
    colAligns: ['left', 'right', 'right', 'left'],
    style: { head: [], border: [] },
  });
  for (const target of TARGETS) {
    const value = valueOf(figures, target);
    if (value === undefined) continue;
    const { label, unit, atLeast, atMost } = target;
    const wanted = atLeast !== undefined ? `≥ ${text(atLeast)}` : atMost !== undefined ? `≤ ${text(atMost)}` : '';
    const met = isMet(value, target);
    table.push([
      label,
      `${text(round(value))}${unit ? ` ${unit}` : ''}`,
      wanted,
      met === undefined ? '' : met ? 'met' : 'missed',
    ]);
  }
  return table.toString();
}

/** The same for programs: rounded, and null for what this system cannot tell. */
export function jsonOf(figures: Figures, indent?: number): string {
  return JSON.stringify(
    figures,
    (_key, value: unknown) =>
      typeof value === 'number' ? (Number.isFinite(value) && !Number.isInteger(value) ? round(value) : value) : value,
    indent,
  );
}

function text(value: number): string {
  return Number.isNaN(value) ? 'unknown' : value.toLocaleString('en-US', { maximumFractionDigits: 4 });
}
