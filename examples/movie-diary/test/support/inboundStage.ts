import { randomUUID } from 'node:crypto';
import type { EventDefinition, Handler } from 'temporal-outbox';
import { PostgresStoredActors } from '../../src/adapters/postgres/remoteActors';
import type { User } from '../../src/domain/user';
import { RemoteActivityReceived, RemoteReviewReceived } from '../../src/events/federation';
import { receiveActivity } from '../../src/useCases/receiveActivity';
import { registerUser } from '../../src/useCases/registerUser';
import { TestDiary } from './diary';
import { ordersOf } from './orders';
import { handled, runHandler } from './runHandler';
import type { Sent } from './sender';

export const THERE = 'https://there.example';

const REVIEWS = ['Create', 'Delete'];

/** Users of a diary, actors of another instance, and what these send. */
export class InboundStage {
  readonly handlers: Handler[];

  private constructor(readonly diary: TestDiary) {
    this.handlers = diary.handlers();
  }

  static async create(): Promise<InboundStage> {
    return new InboundStage(await TestDiary.create());
  }

  close(): Promise<void> {
    return this.diary.close();
  }

  /** A user here, and an actor there whose key was seen. */
  async two() {
    const { diary } = this;
    const name = `u${randomUUID().slice(0, 8)}`;
    const { user } = await registerUser(diary.repositories.users, { name, displayName: name });
    const id = `${THERE}/users/a${randomUUID().slice(0, 8)}`;
    const stored = { uri: id, inbox: `${id}/inbox`, keyId: `${id}#main-key`, publicKey: 'a key' };
    await new PostgresStoredActors(diary.connection).save({ ...stored, displayName: 'at first', movedTo: null }, 1);
    return { user, actor: { id }, self: `${diary.origin}/users/${name}` };
  }

  async keep(user: User, sent: Sent): Promise<void> {
    await receiveActivity(this.diary.repositories.inbox, { userId: user.id, sender: sent.actor, activity: sent });
  }

  /** The activity's event once more, as a worker would handle it. */
  handle(user: User, sent: Sent): Promise<void> {
    const object = sent.object as { type?: string } | undefined;
    const isReview = REVIEWS.includes(sent.type) || (sent.type === 'Update' && object?.type === 'Note');
    const definition: EventDefinition<string, { activityId: string; userId: string }> = isReview
      ? RemoteReviewReceived
      : RemoteActivityReceived;
    const name = isReview ? 'inbound-review-import' : 'inbound-activity';
    const event = handled(definition, { activityId: sent.id, userId: user.id });
    return runHandler(this.handlers, name, event, this.diary.pool);
  }

  async rowsOf(sql: string, ...values: unknown[]): Promise<unknown[]> {
    const { rows } = await this.diary.pool.query<Record<string, unknown>>(sql, values);
    return rows;
  }

  async eventsAbout(field: string, value: string): Promise<{ type: string; version: number }[]> {
    const { rows } = await this.diary.outbox.db.query<{ type: string; version: number }>(
      `SELECT event_type AS type, (payload ->> 'version')::integer AS version FROM :schema.event_queue
        WHERE payload ->> $1 = $2 AND payload ? 'version' ORDER BY id`,
      [field, value],
    );
    return rows;
  }

  /**
   * Lets the activities of one subject arrive in every order, with repeats, and all at once; each order with a subject of
   * its own. What is left must be the same each time.
   */
  async converge(
    length: number,
    subject: () => Promise<{ user: User; sent: Sent[]; state: () => Promise<unknown> }>,
    expected: unknown,
  ): Promise<void> {
    const { sent } = await subject();
    for (const order of ordersOf([...sent.keys()], length)) {
      const { user, sent: activities, state } = await subject();
      for (const one of activities) await this.keep(user, one);
      for (const index of order) await this.handle(user, activities[index]!);
      expect([order, await state()]).toEqual([order, expected]);
    }
    for (let round = 0; round < 10; round++) {
      const { user, sent: activities, state } = await subject();
      for (const one of activities) await this.keep(user, one);
      await Promise.all([...activities, ...activities].map((one) => this.handle(user, one)));
      expect(['at once', await state()]).toEqual(['at once', expected]);
    }
  }
}
