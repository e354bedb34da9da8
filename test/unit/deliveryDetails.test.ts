import { deliveryDetails } from '../../src/workflows/deliveryDetails';

test('the page of a delivery run says which handler failed, how often, with what, and when it is tried next', () => {
  const page = deliveryDetails({
    eventId: '00000000-0000-4000-8000-00000000aaaa',
    handlers: [
      {
        ...{ handler: 'mail', state: 'waiting', attempts: 3, nextAt: '2026-01-01T00:00:40.000Z' },
        reason: 'no | such\nhost `x`',
      },
      { handler: 'bill', state: 'dead', attempts: 10, nextAt: null, reason: 'y'.repeat(5_000) },
    ],
  });
  expect(page).toContain('`00000000-0000-4000-8000-00000000aaaa`');
  // What would end the cell or the table is taken out.
  expect(page).toContain('| mail | **waiting** | 3 | 2026-01-01T00:00:40.000Z | no   such host  x  |');
  expect(page).toMatch(/\| bill \| \*\*dead\*\* \| 10 \| {2}\| y{300} \|/);
  expect(page).toContain('`retryNow`');
});
