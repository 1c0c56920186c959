import type { ExecutionContext, TestFn } from 'ava';
import type { Threads } from '@agent-workflow/protos/threads';
import {
  acceptAndClaim,
  accept,
  answer,
  assistant,
  bytes,
  call,
  calling,
  commit,
  completed,
  fieldsOf,
  idsIn,
  owner,
  pagesOfMessages,
  pagesOfThreads,
  refused,
  thread1,
  user,
} from './thread-calls.ts';
import type { OpenThreads } from './thread-stores/threads-open.ts';

/** Texts as a worker could store them before they were checked. */
const unreadable = {
  messages: [
    { messageId: 'cut', json: bytes('{"message_id":"cut","content":[') },
    { messageId: 'list', json: bytes('["hi"]') },
    { messageId: 'blank', json: bytes('{"message_id":"blank"} ') },
  ],
  fields: { good: bytes('1'), bad: bytes('{{') },
};
const page = { limit: 10, offset: 0 };

/** What the record promises of rows that hold what is no JSON: nobody else's list fails of them. */
export function threadsUnreadableContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = (
    title: string,
    body: (t: ExecutionContext, threads: Threads, reported: ReadonlySet<string>) => Promise<void>,
  ): void => {
    test(`${name}: ${title}`, async (t) => {
      const reported = new Set<string>();
      await using threads = await open({
        onUnreadable: ({ threadId, column }) => void reported.add(`${threadId} ${column}`),
      });
      await body(t, threads, reported);
    });
  };

  const commitUnreadable = async (threads: Threads): Promise<void> => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const messages = [assistant('a1'), ...unreadable.messages, assistant('a2')];
    await commit(threads, 'r1', epoch, { messages, fields: unreadable.fields, end: completed });
  };

  check(
    'messages that cannot be read are left out of lists and searches, and reported',
    async (t, threads, reported) => {
      await commitUnreadable(threads);
      for (const limit of [1, 2, 10]) {
        t.deepEqual(await pagesOfMessages(threads, limit), ['m-r1', 'a1', 'a2']);
        t.deepEqual(await pagesOfMessages(threads, limit, { newestFirst: true }), ['a2', 'a1', 'm-r1']);
      }
      t.deepEqual(await pagesOfMessages(threads, 1, { search: 'hi' }), ['a1', 'a2']);
      t.deepEqual(idsIn((await threads.listRunMessages({ owner, runId: 'r1' }, call())).messagesJson), ['a1', 'a2']);
      t.deepEqual([...reported], ['t1 message.json']);
    },
  );

  check('a message that cannot be read is refused by itself, and can be deleted', async (t, threads) => {
    await commitUnreadable(threads);
    for (const { messageId } of unreadable.messages) {
      const message = { ...thread1, messageId };
      t.is(
        await refused(t, threads.getMessage(message, call()), 'Internal'),
        `message "${messageId}" of thread "t1" cannot be read`,
      );
      await threads.deleteMessage(message, call());
      await refused(t, threads.getMessage(message, call()), 'NotFound');
    }
  });

  check('a state and its checkpoints are shown without what cannot be read', async (t, threads, reported) => {
    await commitUnreadable(threads);
    const { checkpoints } = await threads.listCheckpoints({ ...thread1, ...page }, call());
    const checkpointId = checkpoints[0]?.checkpointId ?? '';
    const { state: past } = await threads.getCheckpoint({ ...thread1, checkpointId }, call());
    for (const state of [await threads.getState(thread1, call()), past]) {
      t.deepEqual(fieldsOf(state), { good: '1' });
      t.deepEqual(idsIn(state.contextJson), ['m-r1', 'a1', 'a2']);
    }
    t.deepEqual([...reported].toSorted(), ['t1 field.bad', 't1 message.json']);
  });

  check('the steps of a run are listed without what cannot be read', async (t, threads, reported) => {
    await commitUnreadable(threads);
    const { steps } = await threads.listRunSteps({ owner, runId: 'r1', fromStep: 0 }, call());
    t.deepEqual(
      steps.map(({ messagesJson, fields }) => [idsIn(messagesJson), Object.keys(fields)]),
      [[['a1', 'a2'], ['good']]],
    );
    t.deepEqual([...reported].toSorted(), ['t1 field.bad', 't1 message.json']);
  });

  check('a thread is repaired around messages that cannot be read', async (t, threads, reported) => {
    const { epoch } = await acceptAndClaim(threads, 'r1');
    const messages = [...unreadable.messages, calling, answer('c1'), assistant('a1')];
    await commit(threads, 'r1', epoch, { messages, end: completed });
    t.is((await threads.fixThread(thread1, call())).removedCount, 1);
    t.deepEqual(await pagesOfMessages(threads, 10), ['m-r1', 'a1']);
    t.deepEqual([...reported], ['t1 message.json']);
  });

  check('a thread whose metadata cannot be read is listed and found without it', async (t, threads, reported) => {
    await accept(threads, 'r1', { metadataJson: bytes('{"city":') });
    await accept(threads, 'r2', { threadId: 't2', messages: [user('m2')], metadataJson: bytes('{"city":"Rome"}') });
    const { threads: all } = await threads.listThreads({ owner, ...page }, call());
    t.deepEqual(
      all
        .map(({ threadId, metadataJson }) => [threadId, metadataJson && Buffer.from(metadataJson).toString()])
        .toSorted(),
      [
        ['t1', undefined],
        ['t2', '{"city":"Rome"}'],
      ],
    );
    t.deepEqual(await pagesOfThreads(threads, 10, 'rome'), ['t2']);
    t.is((await threads.getThread(thread1, call())).metadataJson, undefined);
    t.deepEqual([...reported], ['t1 thread.metadata']);
  });
}
