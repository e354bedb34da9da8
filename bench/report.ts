import Table from 'cli-table3';
import type { Figures } from './figures';
import { round } from './numbers';
import { judge, shown, TARGETS, valueOf } from './targets';

/** The table for people: each figure beside its target. */
export function tableOf(figures: Figures): string {
  const table = new Table({
    head: ['figure', 'measured', 'target', ''],
    colAligns: ['left', 'right', 'right', 'left'],
    style: { head: [], border: [] },
  });
  for (const target of TARGETS) {
    const { area, figure, label, unit } = target;
    const value = valueOf(figures, area, figure);
    if (value === undefined) continue;
    const { wanted, met } = judge(figures, target);
    const measured = `${shown(round(value))}${unit ? ` ${unit}` : ''}`;
    table.push([label, measured, wanted, met === undefined ? '' : met ? 'met' : 'missed']);
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
