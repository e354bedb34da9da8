/** Facts below each other: the UI gives half a page, and cuts off what is wider. */
export function facts(title: string, rows: Readonly<Record<string, string | number>>): string {
  return [
    `| ${title} | |`,
    '| :--- | :--- |',
    ...Object.entries(rows).map(([name, value]) => `| ${name} | ${value} |`),
  ].join('\n');
}

/** Text of others, without what would end a cell, a line or a table. */
export function plain(text: string, atMost = 300): string {
  return text.slice(0, atMost).replace(/[|\n\r`]/g, ' ');
}
