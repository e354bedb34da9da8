import { deliveryDetails } from '../../src/workflows/deliveryDetails';

test('the page of a delivery run says which handler failed, how often, with what, and when it is tried next', () => {
  const status = {
    eventId: '00000000-0000-4000-8000-00000000aaaa',
    handlers: [
      {
        ...{ handler: 'mail', state: 'waiting' as const, attempts: 3, nextAt: '2026-01-01T00:00:40.000Z' },
        reason: 'no | such\nhost `x`',
      },
      { handler: 'bill', state: 'dead' as const, attempts: 10, nextAt: null, reason: 'y'.repeat(5_000) },
    ],
  };
  const page = deliveryDetails(status, 10);
  expect(page).toContain('`00000000-0000-4000-8000-00000000aaaa`');
  // What would end the cell or the table is taken out.
  expect(page).toContain(
    '| **mail** | |\n| :--- | :--- |\n| state | **waiting** |\n| attempts | 3 of 10 |\n' +
      '| next attempt | 2026-01-01T00:00:40.000Z |\n| last failure | no   such host  x  |\n',
  );
  expect(page).toMatch(
    /\| \*\*bill\*\* [^]*state \| \*\*dead\*\* \|\n\| attempts \| 10 of 10 \|\n\| last failure \| y{300} \|/,
  );
  expect(page).toContain('`retryNow`');
  // Of a run that an older build started.
  expect(deliveryDetails(status)).toContain('| attempts | 3 |');
});
