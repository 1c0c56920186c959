import type { ElicitResult } from '@modelcontextprotocol/client';
import test from 'ava';
import { beginCall, confused, type SentCall } from './asking.ts';
import { createOpenCalls, type OpenCalls } from './open-calls.ts';

const question = (message: string): Parameters<OpenCalls['answer']>[0] => ({
  mode: 'form',
  message,
  requestedSchema: { type: 'object', properties: {} },
});

/** A call that is under way until `end` or `fail` is called, and accepts what it is asked. */
interface Call {
  readonly sent: SentCall;
  readonly asked: string[];
  readonly ends: unknown[];
  readonly end: () => Promise<void>;
  readonly fail: () => Promise<void>;
}

function begin(calls: OpenCalls): Call {
  const asked: string[] = [];
  const ends: unknown[] = [];
  const sent = beginCall(
    (_index, { message }) => {
      asked.push(message);
      return { action: 'accept', content: {} };
    },
    (error) => ends.push(error),
  );
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const done = calls.run(sent, () => promise).catch(() => undefined);
  return {
    sent,
    asked,
    ends,
    end: async () => {
      resolve(undefined);
      await done;
    },
    fail: async () => {
      reject(new Error('it took too long'));
      await done;
    },
  };
}

/** Calls on one connection, and how often others were held back for them. */
function open(): { readonly calls: OpenCalls; readonly held: () => number } {
  let held = 0;
  const calls = createOpenCalls(() => {
    held += 1;
    return () => void (held -= 1);
  });
  return { calls, held: () => held };
}

const accepted: ElicitResult = { action: 'accept', content: {} };

test('a question is put to the only call that is under way', async (t) => {
  const { calls, held } = open();
  const call = begin(calls);
  t.deepEqual(await calls.answer(question('Where?')), accepted);
  t.deepEqual(call.asked, ['Where?']);
  t.is(held(), 0);
});

test('a question waits, and keeps calls from beginning, until the others that are under way have ended', async (t) => {
  const { calls, held } = open();
  const asking = begin(calls);
  const other = begin(calls);
  const answer = calls.answer(question('Where?'));
  t.is(held(), 1);
  t.deepEqual([asking.asked, other.asked], [[], []]);
  await other.end();
  t.deepEqual(await answer, accepted);
  t.deepEqual([asking.asked, other.asked], [['Where?'], []]);
  t.is(held(), 0);
});

test('when every call under way waits for an answer, all are ended to be sent again one by one', async (t) => {
  const { calls, held } = open();
  const both = [begin(calls), begin(calls)];
  const answers = [calls.answer(question('Where?')), calls.answer(question('When?'))];
  for (const answer of answers) await t.throwsAsync(answer, { message: /not known which call/ });
  t.deepEqual(
    both.map(({ ends, sent, asked }) => [ends, sent.signal.aborted, asked]),
    [
      [[confused], true, []],
      [[confused], true, []],
    ],
  );
  t.is(held(), 0);
});

test('a question that may be that of a call which was abandoned is refused, and reaches no other call', async (t) => {
  const { calls } = open();
  const abandoned = begin(calls);
  const other = begin(calls);
  const early = calls.answer(question('Where?'));
  await abandoned.fail();
  await t.throwsAsync(early);
  await t.throwsAsync(calls.answer(question('Where?')));
  t.deepEqual([other.asked, other.ends], [[], []]);
});
