import Fastify from 'fastify';
import { Writable } from 'node:stream';
import { answerErrors } from '../src/server/errors';
import { TestDiary } from './support/diary';

it('a failure of the database is answered without its reason, and logged without the values of rows', async () => {
  const diary = await TestDiary.create();
  const lines: string[] = [];
  const stream = new Writable({
    write: (line, _encoding, written) => {
      lines.push(String(line));
      written();
    },
  });
  const app = Fastify({ logger: { level: 'error', stream } });
  try {
    answerErrors(app);
    const insert = `INSERT INTO users (id, name, display_name, public_key, private_key)
                    VALUES (gen_random_uuid(), 'a name that is refused', 'Somebody', 'k', 'a key')`;
    app.get('/', () => diary.pool.query(insert));
    const answer = await fetch(await app.listen({ host: '127.0.0.1', port: 0 }));
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({ error: expect.stringMatching(/may have been carried out.*sent again/) });
    expect(lines.join()).toContain('users_name_check');
    expect(lines.join()).not.toMatch(/Somebody|a key/);
  } finally {
    await app.close();
    await diary.close();
  }
});
