import test from 'ava';
import { openInProcessCodeCalls } from '@agent-workflow/execution/adapters/in-process/code-calls';
import { within } from '@agent-workflow/protos/call';
import { openCodeCallsOn } from '../servers/nats-adapters.ts';
import { nats } from '../servers/nats.ts';
import { withServer } from '../servers/real-suite.ts';
import { codeCallsContract } from './code-calls.ts';
import { byLoad } from '../by-load.ts';

codeCallsContract(test, 'in memory', async () => {
  const calls = openInProcessCodeCalls();
  return {
    calls,
    openWorker: async (held, reduce) => {
      const service = await calls.serve(held, reduce);
      return { service, die: async () => service[Symbol.asyncDispose]() };
    },
    [Symbol.asyncDispose]: async () => calls[Symbol.asyncDispose](),
  };
});

withServer(test, nats, (server) => {
  codeCallsContract(test, 'nats', async () => openCodeCallsOn((await server()).url));

  const held = { agents: ['support'] };
  const request = { agent: 'support', current: {}, given: { n: 1 } };

  test('nats: a worker takes a bounded number of calls at once, and the others wait', async (t) => {
    await using ground = await openCodeCallsOn((await server()).url, 2);
    let atOnce = 0;
    let most = 0;
    await ground.openWorker(held, async () => {
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce--;
      return {};
    });
    await Promise.all(Array.from({ length: 20 }, async () => ground.calls.reduce(request, within(byLoad(60_000)))));
    t.true(most <= 2);
  });

  test('nats: a worker leads its caller to no subject but those of its own pool', async (t) => {
    for (const to of ['foreign.subject', 'foreign']) {
      await using ground = await openCodeCallsOn((await server()).url);
      const seen = await ground.answerRaw({ step: 'taken', to }, to);
      await t.throwsAsync(ground.calls.reduce(request, within(300)));
      t.false(seen.has(to));
    }
  });

  const deep = 200_000;

  test('nats: what a worker replies that is no reply is none, and what is no part of one ends the call', async (t) => {
    for (const text of ['not json', '[]', `{"fields":{"n":${'['.repeat(deep)}${']'.repeat(deep)}}}`]) {
      await using ground = await openCodeCallsOn((await server()).url);
      await ground.replyRaw(text);
      t.is(await ground.calls.reduce(request, within(byLoad(60_000))), undefined);
    }
    for (const total of [2 ** 40, 1]) {
      await using ground = await openCodeCallsOn((await server()).url);
      await ground.replyRaw('{"fields":{"n":1}}', { total, partBytes: 5 });
      await t.throwsAsync(ground.calls.reduce(request, within(byLoad(60_000))), { code: 'Unavailable' });
    }
  });

  test('nats: what is no call is answered or dropped, and calls go on', async (t) => {
    await using ground = await openCodeCallsOn((await server()).url);
    await ground.openWorker(held, async () => Promise.resolve({}));
    for (const [headers, data] of [
      [{}, ''],
      [{ total: '-1', left: '1000' }, 'x'],
      [{ total: String(2 ** 40), left: '1000' }, 'x'],
      [{ total: '1', left: '1000' }, 'more than one byte'],
      [{ total: '3', left: '1000' }, 'no{'],
      [{ total: '2', left: '1000' }, '[]'],
    ] as const)
      await ground.sendRaw(headers, data);
    t.deepEqual(await ground.calls.reduce(request, within(byLoad(60_000))), {});
  });
});
