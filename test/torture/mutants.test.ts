import { MUTANTS } from '../../torture/mutants';
import { torture } from './runTorture';

/** Some minutes, and by chance: whether a kill meets what a mutant needs is up to the machine. */
const long = process.env.OUTBOX_TEST_LONG === 'on' ? it : it.skip;

long.each(Object.keys(MUTANTS))(
  'a build that is broken on purpose (%s) is caught by what its directed storm leaves',
  async (name) => {
    const { code, mutants, said } = await torture('--mutant', name, '--seed', '1');
    console.info(said);
    expect(mutants).toMatchObject([{ mutant: name, caught: true }]);
    expect(code).toBe(0);
  },
  900_000,
);

long(
  'the build as it is passes the same storms',
  async () => {
    const { code, mutants, said } = await torture('--mutant', 'none', '--seed', '1');
    console.info(said);
    expect(mutants).toMatchObject([
      { mutant: 'none', backend: 'db', caught: false },
      { mutant: 'none', backend: 'nats', caught: false },
    ]);
    expect(code).toBe(0);
  },
  900_000,
);
