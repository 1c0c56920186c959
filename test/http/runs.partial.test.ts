import test from 'ava';
import { user } from '../servers/client.ts';
import { openGate, type Gate } from '../servers/gate.ts';
import { replyText, serve } from './service.ts';

const service = serve(test, 'held');

let gate: Gate | undefined;
test.before(async () => {
  gate = await openGate();
});
test.after.always(() => gate?.[Symbol.asyncDispose]());

interface Message {
  readonly message_id: string;
  readonly content: readonly { readonly text?: string }[];
  readonly metadata?: unknown;
}

interface Receipt {
  readonly partial?: boolean;
  readonly partial_seq?: number;
  readonly partial_message_ids?: readonly string[];
}

/** Starts a run, and resolves with its id once it has streamed a part of a message. */
async function begun(thread: string): Promise<string> {
  const config = { thread_id: thread, gate: gate?.url };
  const { body } = await service.send('POST', '/v1/runs', { messages: [user('go')], config });
  const { run_id: runId } = body.data as { run_id: string };
  const reply = await fetch(`${service.url()}/v1/runs/${runId}/stream`);
  let seen = '';
  for await (const text of (reply.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
    seen += text;
    if (seen.includes('"data":"1 "')) break;
  }
  return runId;
}

const messagesOf = async (thread: string): Promise<readonly Message[]> =>
  ((await service.send('GET', `/v1/threads/${thread}/messages`)).body.data as { messages: readonly Message[] })
    .messages;

const stops = {
  stopThread: (thread: string, _run: string, input: object) =>
    service.send('POST', '/v1/graph/stop', { thread_id: thread, ...input }),
  cancelRun: (_thread: string, run: string, input: object) => service.send('POST', `/v1/runs/${run}/cancel`, input),
};

for (const [name, stop] of Object.entries(stops)) {
  test(`${name} keeps what the step under way has streamed, when it is asked to`, async (t) => {
    const thread = `kept-${name}`;
    const runId = await begun(thread);
    const receipt = (await service.data(t, name, stop(thread, runId, { keep_partial: true }))) as Receipt;
    t.true(receipt.partial);
    const [, whole, kept, ...more] = await messagesOf(thread);
    t.deepEqual(more, []);
    t.is(whole?.metadata, undefined);
    t.deepEqual(kept?.metadata, { partial: true });
    t.regex(replyText(kept), /^0 1 /);
    t.deepEqual(receipt.partial_message_ids, [kept?.message_id]);
    t.true((receipt.partial_seq ?? 0) > 0);
    const repeated = (await service.data(t, name, stop(thread, runId, { keep_partial: true }))) as Receipt;
    t.is(repeated.partial, false);
    const next = await service.send('POST', '/v1/graph/invoke', {
      messages: [user('and now?')],
      config: { thread_id: thread },
    });
    t.is(next.status, 200);
  });

  test(`${name} keeps nothing, and says nothing of it, when it is not asked to`, async (t) => {
    const thread = `dropped-${name}`;
    const runId = await begun(thread);
    const receipt = (await service.data(t, name, stop(thread, runId, {}))) as Receipt;
    t.false('partial' in receipt);
    t.is((await messagesOf(thread)).length, 2);
  });

  test(`${name} refuses a keep_partial that is no boolean`, async (t) => {
    const reply = stop('absent', 'absent', { keep_partial: 'yes' });
    t.deepEqual(await service.refused(t, reply, 422, 'VALIDATION_ERROR'), [['body', 'keep_partial']]);
  });
}
