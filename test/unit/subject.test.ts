import fc from 'fast-check';
import { subjectOf } from '../../src/broker/subject';

describe('subjectOf', () => {
  it('is the prefix, the aggregate type and the event type', () => {
    expect(subjectOf('events', { aggregateType: 'film', eventType: 'MovieDiscovered' })).toBe(
      'events.film.MovieDiscovered',
    );
  });

  const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/);
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('a', '.', '*', '>', ' ', '\n', '\t', 'é', '$') }),
    token,
  );

  it('has three tokens and no wildcard, or is none', () => {
    let made = 0;
    fc.assert(
      fc.property(token, anyText, anyText, (prefix, aggregateType, eventType) => {
        const subject = subjectOf(prefix, { aggregateType, eventType });
        if (subject === undefined) return;
        made++;
        expect(subject).toMatch(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/);
        expect(subject.endsWith('\n')).toBe(false);
      }),
      { numRuns: 1_000 },
    );
    expect(made).toBeGreaterThan(0);
  });

  it('is made of every two tokens, and of nothing else', () => {
    fc.assert(
      fc.property(token, token, (aggregateType, eventType) => {
        expect(subjectOf('events', { aggregateType, eventType })).toBe(`events.${aggregateType}.${eventType}`);
      }),
    );
    for (const bad of ['', '*', '>', 'a.b', 'a b', 'a\n', '\na', 'é', 'a>', 'x'.repeat(129)]) {
      expect(subjectOf('events', { aggregateType: bad, eventType: 'T' })).toBeUndefined();
      expect(subjectOf('events', { aggregateType: 't', eventType: bad })).toBeUndefined();
    }
  });
});
